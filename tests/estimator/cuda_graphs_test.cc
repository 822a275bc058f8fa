// --cuda-graphs, from the request to the answer.
#include <doctest/doctest.h>

#include <algorithm>

#include "estimator/app/report/spelling.h"
#include "tests/support/refusal.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

Request on_a100(const std::string& model, int64_t batch, Mode mode = Mode::kTrain) {
  Request asked = test::request("builtin:" + model, "a100", batch);
  asked.recipe.mode = mode;
  return asked;
}

Request replayed(Request asked) {
  asked.cuda_graphs = true;
  return asked;
}

std::string refused(const char* framework) {
  Request asked = replayed(test::request("builtin:mlp", "a100"));
  asked.framework = framework;
  const auto e = estimate(asked, test::hwdb());
  REQUIRE_FALSE(e);
  return e.error().front().code + " " + spelled(e.error().front().message);
}

}  // namespace

TEST_CASE("cuda graphs: the same kernels and bytes, a step that is no longer") {
  for (const char* model : {"resnet50", "vit_b_16", "mlp", "gpt2", "lstm-lm"}) {
    for (const Mode mode : {Mode::kTrain, Mode::kInference}) {
      CAPTURE(model);
      const Estimate eager = test::answer(on_a100(model, 16, mode));
      const Estimate graphs = test::answer(replayed(on_a100(model, 16, mode)));
      CHECK(graphs.time.launches == eager.time.launches);
      CHECK(graphs.time.gpu_ns == eager.time.gpu_ns);
      CHECK(graphs.time.step_ns < eager.time.step_ns);
      CHECK(graphs.memory.device_bytes == eager.memory.device_bytes);
      CHECK(graphs.memory.device_range.low == eager.memory.device_range.low);
      CHECK(graphs.memory.device_range.high > eager.memory.device_range.high);
    }
  }
}

TEST_CASE("cuda graphs: where the host was what held a step, it no longer is") {
  const Request asked = on_a100("resnet50", 1, Mode::kInference);
  const Estimate eager = test::answer(asked), graphs = test::answer(replayed(asked));
  CHECK(eager.time.host_bound);
  CHECK_FALSE(graphs.time.host_bound);
  CHECK(graphs.time.step_ns < eager.time.step_ns / 2);
  // Where it was not, nearly nothing changes.
  const Request large = on_a100("resnet50", 256);
  CHECK(test::answer(replayed(large)).time.step_ns > test::answer(large).time.step_ns * 19 / 20);
}

TEST_CASE("cuda graphs: a graph's nodes were launched one by one before CUDA 12.6") {
  Request asked = replayed(on_a100("gpt2", 1, Mode::kInference));
  asked.cuda = "12.6";
  const Estimate constant = test::answer(asked);
  asked.cuda = "12.4";
  const Estimate linear = test::answer(asked);
  const auto nodes = static_cast<double>(linear.time.launches);
  const auto longer = static_cast<double>(linear.time.host_ns - constant.time.host_ns);
  CHECK(longer == doctest::Approx(199 * nodes - 500).epsilon(.01));
}

TEST_CASE("cuda graphs: refused where the framework has none") {
  CHECK(refused("pytorch-1.9").starts_with("E116 --cuda-graphs: pytorch-1.9"));
  CHECK(refused("tensorflow").starts_with("E116"));
}

}  // namespace plimsoll
