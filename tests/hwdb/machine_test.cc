#include "hwdb/machine.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/estimator.h"
#include "estimator/report/schemas.h"
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

TEST_CASE("machine: what is written is read again, and is of its schema") {
  const std::string text = write_machine(sample());
  const auto read = read_machine(text, "machine.json");
  REQUIRE(read);
  CHECK(*read == sample());
  CHECK(test::schema_fault(nlohmann::json::parse(schema_text("machine")),
                           nlohmann::json::parse(text)) == "");
}

TEST_CASE("machine: unknown keys, other schemas and factors beyond reason are refused") {
  const auto code = [](const std::string& from, const std::string& to) {
    std::string text = write_machine(sample());
    const size_t at = text.find(from);
    REQUIRE(at != text.npos);
    const auto read = read_machine(text.replace(at, from.size(), to), "machine.json");
    REQUIRE_FALSE(read);
    return read.error().front().code;
  };
  CHECK(code("\"kernels\"", "\"kernel\"") == "E306");
  CHECK(code("plimsoll.machine", "plimsoll.host") == "E330");
  CHECK(code("\"factor\": 2", "\"factor\": 0") == "E312");
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
    return line.find("forward times 2.00 as 40 kernels measured on this machine") != line.npos;
  }));
  CHECK(step("rtx-3090", true).time.step_ns == step("rtx-3090", false).time.step_ns);
}

}  // namespace
}  // namespace plimsoll
