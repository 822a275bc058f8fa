#include "graph/rewrite/widen_adapters.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "tests/support/written_by.h"

namespace plimsoll {
namespace {

// The nodes of a layer with what is beside it, after widen_adapters(): their operators in order.
std::string operators(const std::string& weight, const std::string& nodes,
                      const char* exporter = "pytorch 2.9") {
  auto graph = parse_text("opset 17\ninput x: f32[2,8]\nparam w: f32[8,8]\nparam " + weight +
                          ": f32[4,8]\n" + nodes);
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  test::written_by(*graph, exporter);
  const Binding nothing;
  Decider decider(nothing);
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  widen_adapters(*graph);
  std::string found;
  for (const Node& node : graph->nodes) found += node.op + " ";
  return found;
}

TEST_CASE("widen_adapters: an adapter reads its layer's input by a cast") {
  const std::string a = "m.q_proj.lora_A.default.weight";
  CHECK(operators(a, "h = Relu(x)\ny = plimsoll:Linear(h, w)\nb = plimsoll:Linear(h, " + a +
                         ")\noutput y\noutput b\n") == "Relu Linear Cast Linear ");
  // Before its dropout, where it has one.
  CHECK(operators(a, "h = Relu(x)\nd = Dropout(h)\nb = plimsoll:Linear(d, " + a +
                         ")\noutput b\n") == "Relu Cast Dropout Linear ");
  // Another adapter's name.
  CHECK(operators("m.up.lora_A.style.weight",
                  "b = plimsoll:Linear(x, m.up.lora_A.style.weight)\noutput b\n") ==
        "Cast Linear ");
  // Near misses: a layer of another name, the adapter's second half, another exporter.
  CHECK(operators("m.lora_B.default.weight",
                  "b = plimsoll:Linear(x, m.lora_B.default.weight)\noutput b\n") == "Linear ");
  CHECK(operators("m.lora_Attention.weight",
                  "b = plimsoll:Linear(x, m.lora_Attention.weight)\noutput b\n") == "Linear ");
  CHECK(operators(a, "b = plimsoll:Linear(x, " + a + ")\noutput b\n", "tf2onnx 1.9") == "Linear ");
}

}  // namespace
}  // namespace plimsoll
