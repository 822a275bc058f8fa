#include "graph/parallel/sequence_parts.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/parallel/tensor_split.h"

namespace plimsoll {
namespace {

// Two layers that ranks share, with a norm and a sum before and after.
constexpr std::string_view kBlock =
    "opset 17\ninput x: f32[2,6,32]\nparam up: f32[32,64]\nparam down: f32[64,32]\n"
    "n = Relu(x) module=\"h.0\"\nu = MatMul(n, up) module=\"h.0.up\"\n"
    "d = MatMul(u, down) module=\"h.0.down\"\ns = Add(x, d) module=\"h.0\"\n"
    "y = Relu(s) module=\"h.0\"\noutput y\n";

}  // namespace

TEST_CASE("sequence parts: what follows a sum, and what another stage sent") {
  auto graph = parse_text(kBlock);
  REQUIRE(graph);
  Decider decider({});
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  const auto named = [&](std::string_view name) {
    return static_cast<TensorId>(std::ranges::find(graph->tensors, name, &Tensor::name) -
                                 graph->tensors.begin());
  };
  const auto part = [&](const parallel::TensorSplit& split, std::string_view name) {
    const auto at = split.values.find(named(name));
    return at == split.values.end() ? -1 : static_cast<int>(at->second);
  };
  const auto first = parallel::split_tensors(*graph, 2, true);
  for (const char* name : {"d", "s", "y"}) CHECK(part(first, name) == 1);
  CHECK(part(first, "u") == 2);
  CHECK(part(first, "n") == -1);
  const auto later = parallel::split_tensors(*graph, 2, true, {named("x")});
  for (const char* name : {"x", "n", "d", "s"}) CHECK(part(later, name) == 1);
}

}  // namespace plimsoll
