#include "graph/parallel/sequence_parts.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/parallel/tensor_split.h"
#include "tests/support/inferred_graph.h"

namespace plimsoll {
namespace {

// Two layers that ranks share, with a norm and a sum before and after.
constexpr std::string_view kBlock =
    "param up: f32[32,64]\nparam down: f32[64,32]\n"
    "n = Relu(x) module=\"h.0\"\nu = MatMul(n, up) module=\"h.0.up\"\n"
    "d = MatMul(u, down) module=\"h.0.down\"\ns = Add(x, d) module=\"h.0\"\n"
    "y = Relu(s) module=\"h.0\"\noutput y\n";

constexpr std::string_view kImages = "opset 17\ninput x: f32[2,6,32]\n";
constexpr std::string_view kWords =
    "opset 17\ninput ids: i64[2,6]\nparam words: f32[40,32]\n"
    "x = Gather(words, ids) module=\"embed\"\n";

struct Parts {
  Graph graph;
  TensorId named(std::string_view name) const {
    return static_cast<TensorId>(std::ranges::find(graph.tensors, name, &Tensor::name) -
                                 graph.tensors.begin());
  }
  // Of which dimension ranks have parts; -1 of none.
  int of(const parallel::TensorSplit& split, std::string_view name) const {
    const auto at = split.values.find(named(name));
    return at == split.values.end() ? -1 : static_cast<int>(at->second);
  }
};

Parts block_after(std::string_view start) {
  return {test::inferred_graph(std::string(start) + std::string(kBlock))};
}

}  // namespace

TEST_CASE("sequence parts: what follows a sum, and what another stage sent") {
  const Parts words = block_after(kWords);
  const auto first = parallel::split_tensors(words.graph, 2, true);
  for (const char* name : {"x", "n", "d", "s", "y"}) CHECK(words.of(first, name) == 1);
  CHECK(words.of(first, "u") == 2);
  const Parts images = block_after(kImages);
  const auto later = parallel::split_tensors(images.graph, 2, true, {images.named("x")});
  for (const char* name : {"x", "n", "d", "s"}) CHECK(images.of(later, name) == 1);
}

TEST_CASE("sequence parts: a sum that is added to what all ranks have stays whole") {
  const Parts images = block_after(kImages);
  const auto split = parallel::split_tensors(images.graph, 2, true);
  for (const char* name : {"n", "d", "s", "y"}) CHECK(images.of(split, name) == -1);
  CHECK(images.of(split, "u") == 2);
}

}  // namespace plimsoll
