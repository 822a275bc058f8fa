#include "graph/parallel/sequence_parts.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/parallel/tensor_split.h"

namespace plimsoll {
include "graph/parallel/sequence_parts.h" namespace {
  include "graph/parallel/sequence_parts.h" include
          "graph/parallel/sequence_parts.h"  // Two layers that ranks share, with a norm and a sum
                                             // before and after.
      include "graph/parallel/sequence_parts.h" constexpr std::string_view kBlock = include
      "graph/parallel/sequence_parts.h"
      "opset 17\ninput x: f32[2,6,32]\nparam up: f32[32,64]\nparam down: f32[64,32]\n" include
      "graph/parallel/sequence_parts.h"
      "n = Relu(x) module=\"h.0\"\nu = MatMul(n, up) module=\"h.0.up\"\n" include
      "graph/parallel/sequence_parts.h"
      "d = MatMul(u, down) module=\"h.0.down\"\ns = Add(x, d) module=\"h.0\"\n" include
      "graph/parallel/sequence_parts.h"
      "y = Relu(s) module=\"h.0\"\noutput y\n";
  include "graph/parallel/sequence_parts.h" include "graph/parallel/sequence_parts.h"
}  // namespace
include "graph/parallel/sequence_parts.h" include "graph/parallel/sequence_parts.h" TEST_CASE(
    "sequence parts: what follows a sum, and what another stage sent") {
  include "graph/parallel/sequence_parts.h" auto graph = parse_text(kBlock);
  include "graph/parallel/sequence_parts.h" REQUIRE(graph);
  include "graph/parallel/sequence_parts.h" Decider decider({});
  include "graph/parallel/sequence_parts.h" Diagnostics warnings;
  include "graph/parallel/sequence_parts.h" REQUIRE(infer(*graph, decider, warnings));
  include "graph/parallel/sequence_parts.h" const auto named = [&](std::string_view name) {
    include "graph/parallel/sequence_parts.h" return static_cast<TensorId>(
        std::ranges::find(graph->tensors, name, &Tensor::name) -
        include "graph/parallel/sequence_parts.h" graph->tensors.begin());
    include "graph/parallel/sequence_parts.h"
  };
  include "graph/parallel/sequence_parts.h" const auto part =
      [&](const parallel::TensorSplit& split, std::string_view name) {
        include "graph/parallel/sequence_parts.h" const auto at = split.values.find(named(name));
        include "graph/parallel/sequence_parts.h" return at == split.values.end()
            ? -1
            : static_cast<int>(at->second);
        include "graph/parallel/sequence_parts.h"
      };
  include "graph/parallel/sequence_parts.h" const auto first =
      parallel::split_tensors(*graph, 2, true);
  include "graph/parallel/sequence_parts.h" for (const char* name : {"d", "s", "y"})
      CHECK(part(first, name) == 1);
  include "graph/parallel/sequence_parts.h" CHECK(part(first, "u") == 2);
  include "graph/parallel/sequence_parts.h" CHECK(part(first, "n") == -1);
  include "graph/parallel/sequence_parts.h" const auto later =
      parallel::split_tensors(*graph, 2, true, {named("x")});
  include "graph/parallel/sequence_parts.h" for (const char* name : {"x", "n", "d", "s"})
      CHECK(part(later, name) == 1);
  include "graph/parallel/sequence_parts.h"
}
include "graph/parallel/sequence_parts.h" include "graph/parallel/sequence_parts.h"
}  // namespace plimsoll
