#include "graph/ops/routing.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"

namespace plimsoll {
namespace {

// How many indices each NonZero gives of 2 of `experts` for each of 12 tokens, with the busiest
// expert of each layer at so many times its share.
std::vector<int64_t> routed(const std::string& asked, int64_t busiest) {
  auto graph = parse_text(
      "opset 17\ninput scores: f32[12,4]\n"
      "const k: i64[1] = [2]\nconst depth: i64[1] = [5]\n"
      "const values: i64[2] = [0, 1]\n"
      "const first: i64[1] = [0]\nconst second: i64[1] = [1]\n"
      "best, chosen = TopK(scores, k)\n" +
      asked + "output a\noutput b\n");
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  Decider decider({{ops::kBusiestExpert, busiest}});
  Diagnostics warnings;
  const auto inferred = infer(*graph, decider, warnings);
  REQUIRE_MESSAGE(inferred, inferred.error().front().message);
  CHECK(warnings.empty());
  std::vector<int64_t> counts;
  for (const TensorId out : graph->outputs) {
    const Shape& shape = *graph->tensors[out].shape;
    counts.push_back(shape.back().evaluate({{ops::kBusiestExpert, busiest}}).value_or(-1));
  }
  return counts;
}

const std::string kSlices =
    "mask = OneHot(chosen, depth, values)\nturned = Transpose(mask) {perm=[2,1,0]}\n"
    "one = Gather(turned, first) {axis=0}\nother = Gather(turned, second) {axis=0}\n"
    "a = NonZero(one)\nb = NonZero(other)\n";

TEST_CASE("routing: k of n experts get their even share of the tokens") {
  CHECK(routed(kSlices, 1) == std::vector<int64_t>{6, 6});
  // Experts are told apart by comparisons as well.
  const std::string compared =
      "one = Equal(chosen, first)\nother = Equal(chosen, second)\na = NonZero(one)\n"
      "b = NonZero(other)\n";
  CHECK(routed(compared, 1) == std::vector<int64_t>{6, 6});
}

TEST_CASE("routing: at most all tokens go to one expert, and the others share what is left") {
  CHECK(routed(kSlices, 1 << 20) == std::vector<int64_t>{12, 4});
}

TEST_CASE("routing: all experts are asked for some token, whatever the mask's classes") {
  const std::string hit =
      "const axes: i64[2] = [0, 1]\nconst none: i64[1] = [0]\n"
      "mask = OneHot(chosen, depth, values)\nsums = ReduceSum(mask, axes) {keepdims=0}\n"
      "any = Greater(sums, none)\na = NonZero(any)\nb = NonZero(any)\n";
  CHECK(routed(hit, 1) == std::vector<int64_t>{4, 4});
}

}  // namespace
}  // namespace plimsoll
