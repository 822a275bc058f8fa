// Steps that PyTorch programs took (tests/oracles/step_cases.py), recorded, beside what the oracle
// says that PyTorch allocates in them.
#include "estimator/model/recorded_step.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/base/embedded.h"
#include "graph/record/record.h"
#include "tests/support/golden_memory.h"
#include "tests/support/requests.h"
#include "tests/support/scratch.h"

using namespace plimsoll;

namespace {

std::string path_of(const std::string& kind) {
  return test::golden_path("steps/" + kind + std::string(kRecordSuffix));
}

Request asked(const std::string& kind, std::optional<int64_t> batch = std::nullopt) {
  return test::request(path_of(kind), "tesla-t4", batch);
}

}  // namespace

TEST_CASE("recorded steps: live bytes peak where PyTorch's do, at batches seen and not seen") {
  const auto goldens = test::read_golden("steps/peaks.json");
  CHECK(goldens["steps"].size() == size_t{3} * 14);  // of each kind three
  for (const auto& item : goldens["steps"].items()) {
    const std::string& name = item.key();
    const std::string kind = name.ends_with("_1") ? name.substr(0, name.size() - 2) : name;
    for (const auto& row : item.value()) {
      const auto batch = row["batch"].get<int64_t>();
      CAPTURE(kind);
      CAPTURE(batch);
      const MemoryEstimate memory = test::answer(asked(kind, batch)).memory;
      CHECK(memory.live_peak_bytes == row["peak"].get<int64_t>());
      CHECK(memory.allocated_peak_bytes >= memory.live_peak_bytes);
      CHECK(memory.reserved_bytes >= memory.allocated_peak_bytes);
    }
  }
}

TEST_CASE("recorded steps: the sample's batch is asked of where none is given") {
  const Estimate e = test::answer(asked("losses_inside"));
  CHECK(e.input.batch == 6);
  CHECK(e.memory.parameter_count > 0);
  CHECK(e.time.step_ns > 0);
}

TEST_CASE("recorded steps: a batch that was not looked at is refused") {
  // Its batch is cut in two halves, so it was recorded at multiples.
  const auto e = estimate(asked("low_rank_adapters", 7), test::hwdb());
  REQUIRE(!e);
  CHECK(e.error().front().code == "E282");
  CHECK(estimate(asked("low_rank_adapters", 12), test::hwdb()));
}

TEST_CASE("recorded steps: settings of training have no effect, and that is said") {
  for (const char* name : {"optimizer", "offload", "micro-batches"}) {
    CAPTURE(name);
    Request request = asked("own_functions");
    request.given.insert(name);
    const Estimate e = test::answer(request);
    CHECK(std::ranges::any_of(e.diagnostics, [](const Diagnostic& d) { return d.code == "W516"; }));
  }
}

TEST_CASE("recorded steps: of another framework only what surrounds the step is predicted") {
  const auto told = [](const char* framework) {
    Request request = asked("own_functions");
    request.framework = framework;
    return std::ranges::any_of(test::answer(request).diagnostics, [](const Diagnostic& d) {
      return d.message.find("recorded with PyTorch") != std::string::npos;
    });
  };
  CHECK(told("tensorflow"));
  CHECK(told("mxnet"));
  CHECK_FALSE(told("pytorch"));
  CHECK_FALSE(told("pytorch-1.13"));
}

TEST_CASE("recorded steps: a record that was unpacked is one, whatever it is called") {
  const test::Scratch scratch;
  const std::string packed = test::read_bytes(path_of("own_functions"));
  const auto text = gunzip(packed, size_t{1} << 26);
  REQUIRE(text);
  const MemoryEstimate wanted = test::answer(asked("own_functions")).memory;
  for (const char* name : {"step.plimsoll.json", "step.json", "step"}) {
    CAPTURE(name);
    const auto request = test::request(scratch.write(name, *text), "tesla-t4");
    CHECK(test::answer(request).memory.live_peak_bytes == wanted.live_peak_bytes);
  }
}

TEST_CASE("recorded steps: a stage waits for the others as long as its micro-batches leave it") {
  for (const char* name : {"gpipe_first", "1f1b_middle", "gpipe_last"}) {
    CAPTURE(name);
    Request request =
        test::request(test::golden_path("ranks/" + std::string(name) + std::string(kRecordSuffix)),
                      "h100-sxm-80gb");
    request.gpu_count = 3;
    const TimeEstimate time = test::answer(request).time;
    // Of three stages and four micro-batches: two passes of four, without the update.
    const double share =
        static_cast<double>(time.bubble_ns) / static_cast<double>(time.step_ns - time.bubble_ns);
    CHECK(share > 0.3);
    CHECK(share <= 0.5);
  }
}
