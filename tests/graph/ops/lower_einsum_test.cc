#include <doctest/doctest.h>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/ops/lower.h"

namespace plimsoll {

// torch.einsum is among the operators that autocast runs in 16 bits (ATen/autocast_mode.h), with a
// sum or without one.
TEST_CASE("an Einstein sum runs in 16 bits under autocast, also where nothing is summed") {
  for (const char* equation : {"bi,bj->bij", "bi,ij->bj"}) {
    CAPTURE(equation);
    auto graph = parse_text(std::string("opset 17\ninput a: f32[4,4]\ninput b: f32[4,4]\n"
                                        "y = Einsum(a, b) {equation=\"") +
                            equation + "\"}\noutput y\n");
    REQUIRE_MESSAGE(graph, graph.error().front().message);
    const Binding none;
    Decider decider{none};
    Diagnostics warnings;
    REQUIRE(infer(*graph, decider, warnings));
    const Recipe recipe;
    const Policy policy;
    eager::Machine machine{recipe, policy, decider};
    machine.set_autocast(DType::kBFloat16);
    const auto input = [&] { return machine.resident(DType::kFloat32, {4, 4}, Role::kInput); };
    eager::Lowering lowering(machine, *graph, 0, {input(), input()});
    CHECK(lower::einsum(lowering).front().dtype() == DType::kBFloat16);
  }
}

}  // namespace plimsoll
