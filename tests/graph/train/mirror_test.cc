#include "graph/train/mirror.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "estimator/estimator.h"
#include "tests/support/requests.h"

using namespace plimsoll;

namespace {

int64_t launches(const Estimate& e, std::string_view kernel) {
  int64_t count = 0;
  for (const KernelShare& k : e.time.kernels) {
    if (k.kernel.starts_with(kernel)) count += k.count;
  }
  return count;
}

}  // namespace

TEST_CASE("mirror: runs of cheap nodes, each with the product that reads its result") {
  Graph graph;
  const auto node = [&](const char* op, TensorId in) {
    Node made;
    made.op = op;
    made.inputs = {in};
    made.outputs = {graph.add_tensor({})};
    graph.add_node(made);
    return made.outputs.front();
  };
  const TensorId x = graph.add_tensor({});
  const TensorId conv = node("Conv", x);                   // 0
  const TensorId norm = node("BatchNormalization", conv);  // 1
  const TensorId relu = node("Relu", norm);                // 2
  const TensorId next = node("Conv", relu);                // 3: reads the run's result
  const TensorId again = node("Relu", next);               // 4
  node("Conv", x);                                         // 5: reads another's
  node("Dropout", again);                                  // 6
  const auto runs = mirrored_runs(graph);
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].first == 1);
  CHECK(runs[0].last == 4);
  CHECK(runs[1].first == 4);
  CHECK(runs[1].last == 5);
}

// apache/mxnet, example/image-classification/README.md: Inception-v3 on a K80 takes 10 GB at batch
// 64, and mirrored at batch 128, at 27 images/s for 30.
TEST_CASE("mirror: norms and activations run again, convolutions do not") {
  Request request = test::request("builtin:inception_v3", "tesla-k80", 128);
  request.framework = "mxnet-0.9";
  request.recipe.optimizer = find_optimizer("sgd");
  const Hwdb hwdb = *Hwdb::open();
  const auto usual = estimate(request, hwdb);
  request.recipe.checkpoint = "mirror";
  const auto mirrored = estimate(request, hwdb);
  REQUIRE(usual);
  REQUIRE(mirrored);
  CHECK(mirrored->memory.saved_bytes < usual->memory.saved_bytes / 2);
  CHECK(mirrored->memory.device_range.low < 10'000'000'000);
  CHECK(mirrored->memory.device_range.high > 10'000'000'000);
  CHECK(launches(*mirrored, "conv forward") == launches(*usual, "conv forward"));
  CHECK(launches(*mirrored, "batch_norm forward") == 2 * launches(*usual, "batch_norm forward"));
  const double slower = mirrored->time.samples_per_second / usual->time.samples_per_second;
  CHECK(slower == doctest::Approx(27. / 30).epsilon(.06));
}

// The same source says 10 GB of both. Without mirroring it is so; mirrored, the algorithms that the
// step is timed with take 0.9 GB of workspace, more than that run can have had.
TEST_CASE("mirror: ten gigabytes of Inception-v3 on a K80_Incorrect") {
  Request request = test::request("builtin:inception_v3", "tesla-k80", 64);
  request.framework = "mxnet-0.9";
  request.recipe.optimizer = find_optimizer("sgd");
  const Hwdb hwdb = *Hwdb::open();
  const auto usual = estimate(request, hwdb);
  request.batch = 128;
  request.recipe.checkpoint = "mirror";
  const auto mirrored = estimate(request, hwdb);
  REQUIRE(usual);
  REQUIRE(mirrored);
  CHECK(static_cast<double>(usual->memory.device_bytes) / 1e9 == doctest::Approx(10).epsilon(.1));
  CHECK(static_cast<double>(mirrored->memory.device_bytes) / 1e9 ==
        doctest::Approx(11.2).epsilon(.01));
}
