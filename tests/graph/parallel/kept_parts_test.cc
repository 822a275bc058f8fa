#include "graph/parallel/kept_parts.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/exporter/weight_roles.h"
#include "graph/ir/text.h"

namespace plimsoll {
namespace {

// A block of 60 + 8 weights, and a head of 24.
constexpr std::string_view kTwoAndHead =
    "opset 17\ninput x: f32[8,6]\nparam a: f32[6,10]\nparam b: f32[10,4]\nparam c: f32[4,6]\n"
    "x1 = MatMul(x, a) module=\"h.0.in\"\nx2 = MatMul(x1, b) module=\"h.0.out\"\n"
    "y = MatMul(x2, c) module=\"head\"\noutput y\n";

std::vector<Dim> parts_on(int64_t rank, ShardedBy library, Sharded what = Sharded::kWeights) {
  const auto graph = parse_text(kTwoAndHead);
  REQUIRE(graph);
  ParallelPlan plan;
  plan.sharded = what;
  plan.sharded_by = library;
  plan.mesh.extent(Axis::kShard) = 4;
  plan.mesh.rank = rank;
  const auto roles = classify_parameters(*graph);
  std::vector<Dim> counts;
  for (const auto& [id, shape] : parallel::kept_parts(*graph, roles, {}, plan))
    counts.push_back(elements(shape));
  return counts;
}

using Counts = std::vector<Dim>;

}  // namespace

TEST_CASE("kept parts: FSDP2 parts rows, the last ranks have fewer") {
  CHECK(parts_on(0, ShardedBy::kFsdp2) == Counts{2 * 10, 3 * 4, 6});
  CHECK(parts_on(2, ShardedBy::kFsdp2) == Counts{2 * 10, 3 * 4, 6});
  CHECK(parts_on(3, ShardedBy::kFsdp2) == Counts{0, 4, 6});
}

TEST_CASE("kept parts: FSDP1 joins a unit's weights to one array") {
  // 60 and 40 elements are 100, a quarter of which is 25.
  CHECK(parts_on(0, ShardedBy::kFsdp1) == Counts{25, 0, 6});
  CHECK(parts_on(2, ShardedBy::kFsdp1) == Counts{10, 15, 6});
  CHECK(parts_on(3, ShardedBy::kFsdp1) == Counts{0, 25, 6});
}

TEST_CASE("kept parts: ZeRO joins all weights, in stage 3 each by itself") {
  // 124 elements; parts are even.
  CHECK(parts_on(0, ShardedBy::kZero, Sharded::kStates) == Counts{32, 0, 0});
  CHECK(parts_on(3, ShardedBy::kZero, Sharded::kGradients) == Counts{0, 4, 24});
  CHECK(parts_on(3, ShardedBy::kZero) == Counts{15, 10, 6});
}

TEST_CASE("kept parts: elements of four bits are a parameter of their layer's type") {
  auto graph = parse_text(kTwoAndHead);
  REQUIRE(graph);
  Tensor& weight = *std::ranges::find(graph->tensors, "a", &Tensor::name);
  weight.dtype = DType::kBFloat16;
  CHECK(!parallel::packed_shape(weight, *weight.shape));
  weight.quantized = find_quantization("nf4-double");
  CHECK(*parallel::packed_shape(weight, *weight.shape) == Shape{15, 1});  // 60 of 4 bits
  weight.quantized = find_quantization("int8");
  CHECK(!parallel::packed_shape(weight, *weight.shape));
}

TEST_CASE("kept parts: each weight of an array begins at a multiple") {
  Mesh mesh;
  mesh.extent(Axis::kShard) = 2;
  const std::vector<Dim> counts = {Dim(3), Dim(5)};
  const parallel::FlatParts flat = parallel::flat_parts(counts, 4, 1, mesh);
  CHECK(flat.part == Dim(5));  // of 4 + 5, and one of padding
  CHECK(flat.whole == Dim(10));
  CHECK(flat.mine == Counts{3, 1});
  CHECK(parallel::flat_alignment(DType::kBFloat16) == 8);
  const std::vector<Dim> symbols = {Dim::symbol("s"), Dim(5)};
  CHECK(parallel::flat_parts(symbols, 4, 1, mesh).mine[1] == Dim(3));
}

}  // namespace plimsoll
