#include "hwdb/machine.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/app/report/schemas.h"
#include "estimator/estimator.h"
#include "tests/support/requests.h"
#include "tests/support/schema_fault.h"

namespace plimsoll {
namespace {

Machine sample() {
  return {.gpu = "tesla-t4",
          .source = "records of a test",
          .factors = {{.kernel_class = "conv",
                       .arithmetic = "f32",
                       .pass = "forward",
                       .factor = 2,
                       .range90 = .1,
                       .kernels = 40,
                       .error_before = .5,
                       .error_after = .05},
                      {.kernel_class = "rows",
                       .arithmetic = "f32",
                       .pass = "",
                       .factor = 1.5,
                       .kernels = 12,
                       .error_before = .3,
                       .error_after = .2}}};
}

Machine full_sample() {
  Machine machine = sample();
  machine.clock = 1.485e9;
  machine.workspaces = {
      R"({"pass":"fprop","n":1,"c":2,"h":4,"w":4,"k":2,"r":1,"s":1,"gpu":"tesla-t4","cudnn":"9.1.0",)"
      R"("mode":"instant","on_card":true,"engine":1,"workspace_bytes":7,"notes":[],"knobs":{},)"
      R"("preference":0,"alternatives":[]})"};
  machine.context_bytes = 527 << 20;
  machine.host =
      R"({"schema":"plimsoll.host","version":1,"id":"measured","aliases":[],"name":"a machine",)"
      R"("pageable_copy":{"value":"2.5 GB/s","source":"measured"}})";
  return machine;
}

TEST_CASE("machine: what is written is read again, and is of its schema") {
  for (const Machine& machine : {sample(), full_sample()}) {
    const std::string text = write_machine(machine);
    const auto read = read_machine(text, "machine.json");
    REQUIRE(read);
    CHECK(*read == machine);
    CHECK(test::schema_fault(nlohmann::json::parse(schema_text("machine")),
                             nlohmann::json::parse(text)) == "");
  }
}

TEST_CASE("machine: unknown keys, other schemas and factors beyond reason are refused") {
  const auto code = [](const std::string& from, const std::string& to) {
    std::string text = write_machine(full_sample());
    const size_t at = text.find(from);
    REQUIRE(at != text.npos);
    const auto read = read_machine(text.replace(at, from.size(), to), "machine.json");
    REQUIRE_FALSE(read);
    return read.error().front().code;
  };
  CHECK(code("\"kernels\"", "\"kernel\"") == "E306");
  CHECK(code("plimsoll.machine", "plimsoll.host") == "E330");
  CHECK(code("\"factor\": 2", "\"factor\": 0") == "E312");
  CHECK(code("\"clock\": ", "\"clock\": 1") == "E312");
  CHECK(code("plimsoll.host", "plimsoll.most") == "E330");
  CHECK(code("2.5 GB/s", "2.5 m/s") == "E401");
}

TEST_CASE("machine: copies to its card are as its machine makes them, unless another is named") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb);
  const auto copy = [&](const char* gpu, const std::string& host, bool with) {
    Request request = test::request("builtin:alexnet", gpu, 8);
    request.host = host;
    if (with) request.machine = full_sample();
    const auto answer = estimate(request, *hwdb);
    REQUIRE(answer);
    return std::pair(answer->time.input_copy_ns, answer->time.host_id);
  };
  const auto plain = copy("tesla-t4", "generic", false), here = copy("tesla-t4", "generic", true);
  CHECK(here.second == "measured");
  CHECK(here.first > plain.first);
  CHECK(copy("tesla-t4", "aws-g4dn", true) == copy("tesla-t4", "aws-g4dn", false));
  CHECK(copy("tesla-p4", "generic", true) == copy("tesla-p4", "generic", false));
}

TEST_CASE("machine: times of its card's kernels are multiplied, of no other card's") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb);
  const auto step = [&](const char* gpu, bool with) {
    Request request = test::request("builtin:vgg16", gpu, 8);
    request.recipe.mode = Mode::kInference;
    if (with) request.machine = sample();
    const auto answer = estimate(request, *hwdb);
    REQUIRE(answer);
    return *answer;
  };
  const Estimate plain = step("tesla-t4", false), here = step("tesla-t4", true);
  const auto of_class = [](const Estimate& e, std::string_view word) {
    int64_t ns = 0;
    for (const KernelShare& k : e.time.kernels)
      if (k.kernel.starts_with(word)) ns += k.total_ns;
    return static_cast<double>(ns);
  };
  CHECK(of_class(here, "conv ") == doctest::Approx(2 * of_class(plain, "conv ")).epsilon(.01));
  CHECK(of_class(here, "gemm ") == of_class(plain, "gemm "));
  CHECK(std::ranges::any_of(here.basis, [](const std::string& line) {
    return line.find("forward times 2.00 from 40 kernels measured on this machine") != line.npos;
  }));
  CHECK(step("rtx-3090", true).time.step_ns == step("rtx-3090", false).time.step_ns);
}

}  // namespace
}  // namespace plimsoll
