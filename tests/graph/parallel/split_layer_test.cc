#include "graph/parallel/split_layer.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/parallel/split_weights.h"
#include "graph/train/expand.h"
#include "tests/support/inferred_graph.h"

namespace plimsoll {
namespace {

constexpr std::string_view kConvolutionAndLayers =
    "opset 17\ninput x: f32[8,3,4,4]\nparam f: f32[2,3,4,4]\nparam w: f32[10,2]\nparam b: f32[10]\n"
    "param v: f32[10,7]\n"
    "const s: i64[2] = [8,2]\nc = Conv(x, f)\nr = Reshape(c, s)\n"
    "h = Gemm(r, w, b) {transB=1}\ny = MatMul(h, v)\noutput y\n";

Step step_of(const Graph& graph, int64_t devices) {
  Recipe recipe;
  recipe.parallel.mesh.extent(Axis::kData) = devices;
  recipe.parallel.splits_layers = true;
  recipe.optimizer = find_optimizer("momentum");
  Decider decider({});
  auto expansion = expand(graph, plan_for(graph), recipe, Policy{}, decider);
  REQUIRE(expansion);
  return std::move(expansion->step);
}

std::vector<int64_t> sizes(const Step& step, Role role) {
  std::vector<int64_t> bytes;
  for (const Buffer& b : step.buffers) {
    if (b.role == role) bytes.push_back(*b.bytes.constant());
  }
  std::ranges::sort(bytes);
  return bytes;
}

int64_t product_flop(const Step& step) {
  int64_t flop = 0;
  for (const Event& e : step.events) {
    if (e.kind != Event::Kind::kLaunch) continue;
    const Kernel& kernel = step.kernels[e.id];
    if (kernel.kernel_class == KernelClass::kGemm) flop += *kernel.flop.constant();
  }
  return flop;
}

std::vector<std::pair<CollectiveKind, int64_t>> exchanges(const Step& step) {
  std::vector<std::pair<CollectiveKind, int64_t>> all;
  for (const Collective& c : step.collectives) all.emplace_back(c.kind, *c.bytes.constant());
  return all;
}

}  // namespace

TEST_CASE("split weights: of fully connected layers, by outputs") {
  const Graph graph = test::inferred_graph(kConvolutionAndLayers);
  std::map<std::string, size_t> found;
  for (const auto& [id, placed] : parallel::split_weights(graph))
    found[graph.tensors[id].name] = placed.dimension;
  CHECK(found == std::map<std::string, size_t>{{"w", 0}, {"b", 0}, {"v", 1}});
}

TEST_CASE("split weights: none that layers share") {
  const Graph graph = test::inferred_graph(
      "opset 17\ninput x: f32[8,4]\nparam w: f32[4,4]\na = MatMul(x, w)\ny = MatMul(a, w)\n"
      "output y\n");
  CHECK(parallel::split_weights(graph).empty());
}

TEST_CASE("split layers: each device has its part and does its share of the work") {
  const Graph graph = test::inferred_graph(kConvolutionAndLayers);
  const Step alone = step_of(graph, 1), split = step_of(graph, 2);
  CHECK(sizes(alone, Role::kParameter) == std::vector<int64_t>{40, 80, 280, 384});
  // Of seven outputs the first device has four.
  CHECK(sizes(split, Role::kParameter) == std::vector<int64_t>{20, 40, 160, 384});
  CHECK(sizes(split, Role::kOptimizerState) == std::vector<int64_t>{20, 40, 160, 384});
  // 16 samples by half of the outputs; of the second layer four outputs instead of three and a
  // half.
  CHECK(product_flop(alone) == 3 * 2 * 8 * (2 * 10 + 10 * 7));
  CHECK(product_flop(split) == 3 * 2 * 16 * (2 * 5 + 10 * 4));
  const std::vector<std::pair<CollectiveKind, int64_t>> wanted = {
      {CollectiveKind::kAllGather, 16 * 2 * 4},       // what the first layer reads
      {CollectiveKind::kAllToAll, 16 * 5 * 4},        // what it gives
      {CollectiveKind::kAllGather, 16 * 10 * 4},      // the second
      {CollectiveKind::kAllToAll, 16 * 4 * 4},        //
      {CollectiveKind::kAllToAll, 8 * 7 * 4},         // and back
      {CollectiveKind::kReduceScatter, 16 * 10 * 4},  //
      {CollectiveKind::kAllToAll, 8 * 10 * 4},        //
      {CollectiveKind::kReduceScatter, 16 * 2 * 4},   //
      {CollectiveKind::kAllReduce, 384}};             // the filters' gradient alone
  CHECK(exchanges(split) == wanted);
  CHECK(alone.collectives.empty());
}

}  // namespace plimsoll
