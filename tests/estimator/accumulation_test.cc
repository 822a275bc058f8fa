// Gradients accumulated over many passes: what is written once stands for all of them.
#include <doctest/doctest.h>

#include "estimator/estimator.h"
#include "tests/support/requests.h"

using namespace plimsoll;

namespace {

Estimate accumulated(const std::string& model, int64_t passes, bool trace = false,
                     const std::string& checkpoint = "none") {
  Request asked = test::request(model, "tesla-t4", 2);
  asked.recipe.accumulate = passes;
  asked.recipe.checkpoint = checkpoint;
  asked.trace = trace;
  return test::answer(asked);
}

}  // namespace

TEST_CASE("accumulation: from the third pass on each adds as much work, and no memory") {
  for (const char* model : {"builtin:resnet18", "builtin:lstm-lm"}) {
    for (const char* checkpoint : {"none", "blocks"}) {
      if (model == std::string_view("builtin:lstm-lm") && checkpoint[0] == 'b') continue;
      CAPTURE(model);
      CAPTURE(checkpoint);
      // None of these two is folded.
      const Estimate two = accumulated(model, 2, false, checkpoint);
      const Estimate three = accumulated(model, 3, false, checkpoint);
      for (const int64_t passes : {4, 5, 64, 4096}) {
        const Estimate many = accumulated(model, passes, false, checkpoint);
        const auto grows = [&](int64_t at_two, int64_t at_three) {
          return at_three + (passes - 3) * (at_three - at_two);
        };
        CHECK(many.time.launches == grows(two.time.launches, three.time.launches));
        REQUIRE(many.layers.size() == three.layers.size());
        for (size_t i = 0; i < many.layers.size(); ++i) {
          CHECK(many.layers[i].flop_backward ==
                grows(two.layers[i].flop_backward, three.layers[i].flop_backward));
          CHECK(many.layers[i].forward_ns ==
                grows(two.layers[i].forward_ns, three.layers[i].forward_ns));
        }
        CHECK(many.memory.live_peak_bytes == three.memory.live_peak_bytes);
        CHECK(many.memory.reserved_bytes == three.memory.reserved_bytes);
        CHECK(
            static_cast<double>(many.time.forward_ns) ==
            doctest::Approx(static_cast<double>(grows(two.time.forward_ns, three.time.forward_ns)))
                .epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("accumulation: samples of all passes count") {
  const Estimate one = accumulated("builtin:resnet18", 1),
                 many = accumulated("builtin:resnet18", 64);
  const double samples =
      many.time.samples_per_second * static_cast<double>(many.time.step_ns) / 1e9;
  CHECK(samples == doctest::Approx(2 * 64));
  CHECK(many.time.samples_per_second > one.time.samples_per_second * .9);
}

TEST_CASE("accumulation: a trace says how many passes are alike, and lasts as long as all") {
  const Trace trace = *accumulated("builtin:resnet18", 64, true).trace;
  const Trace written = *accumulated("builtin:resnet18", 3, true).trace;
  const auto end = [](const Trace& t) {
    return t.launches.back().start_ns + t.launches.back().duration_ns;
  };
  const Trace two = *accumulated("builtin:resnet18", 2, true).trace;
  CHECK(trace.launches.size() == written.launches.size() + 1);
  CHECK(end(trace) == end(written) + 61 * (end(written) - end(two)));
  const auto at = std::ranges::find(trace.launches, "61 more passes alike", &TraceLaunch::kernel);
  CHECK(at != trace.launches.end());
}
