#include "graph/train/weight_doubts.h"

#include <doctest/doctest.h>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/rewrite/recover.h"
#include "graph/rewrite/written_weights.h"
#include "graph/train/training_rules.h"
#include "tests/support/written_by.h"

namespace plimsoll {
namespace {

// Codes of the doubts about a file, in order; "froze": all its weights are.
std::string doubts(std::string_view text, const std::vector<TrainingRule>& rules = {}) {
  auto graph = parse_text(text);
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  test::written_by(*graph, "pytorch 2.9");
  graph->batch_symbol = "B";
  for (Tensor& t : graph->tensors)
    if (t.name.starts_with("constant")) t.origin = Origin::kGenerated;
  Decider decider(Binding{{"B", 4}});
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  find_written_weights(*graph);
  const RecoverReport report = recover(*graph, &decider);
  auto kinds = classify_parameters(*graph);
  REQUIRE(apply_rules(*graph, rules, kinds));
  std::string codes;
  for (const Diagnostic& d : weight_doubts(*graph, kinds, report)) {
    CHECK(d.severity == Severity::kWarning);
    CHECK_FALSE(d.help.empty());
    codes += (codes.empty() ? "" : " ") + d.code;
  }
  return codes;
}

}  // namespace

TEST_CASE("nothing to train is said, also where all is frozen") {
  CHECK(doubts("opset 17\ninput x: f32[B,4]\ny = Relu(x)\noutput y\n") == "W230");
  constexpr std::string_view kLayer =
      "opset 17\ninput x: f32[B,4]\nparam w: f32[4,4]\ny = MatMul(x, w)\noutput y\n";
  CHECK(doubts(kLayer).empty());
  CHECK(doubts(kLayer, {{"*", false}}) == "W230");
}

TEST_CASE("a layer that multiplies by what is computed of constants is said") {
  CHECK(doubts(R"(opset 17
input x: f32[B,8]
param w: f32[8,8]
param constant: f32[8,8]
h = MatMul(x, w)
t = Abs(constant)
y = MatMul(h, t)
output y
)") == "W231");
  // Positions times frequencies, scores times values, and a weight that is trained.
  CHECK(doubts(R"(opset 17
input x: f32[B,8]
input positions: i64[B,1]
param w: f32[8,8]
param constant: f32[1,4]
p = Cast(positions) {to=1}
angles = MatMul(p, constant)
h = MatMul(x, w)
r = Transpose(h) {perm=[1,0]}
y = MatMul(h, r)
output y
output angles
)")
            .empty());
}

TEST_CASE("convolutions without bias or norm are said where other layers have them") {
  const auto network = [](const std::string& between, const std::string& bias,
                          const std::string& notes = "") {
    return "opset 17\ninput x: f32[B,3,8,8]\nparam a.weight: f32[8,3,3,3]\n"
           "param b.weight: f32[8,8,3,3]\nparam b.bias: f32[8]\nparam n.weight: f32[8]\n"
           "param n.bias: f32[8]\nparam n.running_mean: f32[8]\nparam n.running_var: f32[8]\n"
           "f = Abs(x)\nc = Conv(f, a.weight)" +
           notes + "\n" + between + "y = Conv(r, b.weight" + bias + ")\noutput y\n";
  };
  const std::string norm =
      "n = BatchNormalization(c, n.weight, n.bias, n.running_mean, n.running_var)\nr = Relu(n)\n";
  CHECK(doubts(network("r = Relu(c)\n", ", b.bias")) == "W232");
  CHECK(doubts(network("r = Relu(c)\n", "")).empty());  // a network without any
  CHECK(doubts(network(norm, ", b.bias")).empty());
  // A module's own weight, which nobody folded anything into.
  CHECK(doubts(network("r = Relu(c)\n", ", b.bias", " module=\"a\"")).empty());
  CHECK(doubts(network("r = Relu(c)\n", ", b.bias", " module=\"other\"")) == "W232");
  // Pre-norm: the layer reads what was normed.
  std::string before = network("r = Gelu(c)\n", ", b.bias");
  before.replace(before.find("f = Abs(x)"), 10,
                 "e = Conv(x, e.weight)\nf = BatchNormalization(e, n.weight, n.bias, "
                 "n.running_mean, n.running_var)");
  before.insert(before.find("param a"), "param e.weight: f32[8,3,1,1]\n");
  before.replace(before.find("a.weight: f32[8,3"), 17, "a.weight: f32[8,8");
  CHECK(doubts(before).empty());
  CHECK(doubts(network("r = MaxPool(c) {kernel_shape=[2,2]}\n", ", b.bias")).empty());
}

TEST_CASE("a quantised network is said") {
  CHECK(doubts(R"(opset 17
input x: f32[B,8]
param w: f32[8,8]
const scale: f32[] = [0.1]
const zero: i8[] = [0]
q = QuantizeLinear(x, scale, zero)
d = DequantizeLinear(q, scale, zero)
y = MatMul(d, w)
output y
)") == "W233");
}

TEST_CASE("a matrix of several modules is said; one that a module reads again is not") {
  const auto network = [](const std::string& second) {
    return "opset 17\ninput x: f32[B,8]\nparam a.weight: f32[8,8]\n"
           "h = MatMul(x, a.weight) module=\"a\"\ny = MatMul(h, a.weight) module=\"" +
           second + "\"\noutput y\n";
  };
  CHECK(doubts(network("b")) == "W234");
  CHECK(doubts(network("a")).empty());
  CHECK(doubts(network("a_1")).empty());  // TorchScript's name for a second call
  CHECK(doubts(R"(opset 17
input x: f32[B,8]
param n.weight: f32[8]
param n.bias: f32[8]
h = LayerNormalization(x, n.weight, n.bias) module="n"
y = LayerNormalization(h, n.weight, n.bias) module="m"
output y
)") == "W234");
  // An embedding that the head multiplies by.
  CHECK(doubts(R"(opset 17
input ids: i64[B,4]
param embed.weight: f32[100,8]
e = Gather(embed.weight, ids) module="embed"
t = Transpose(embed.weight) {perm=[1,0]}
y = MatMul(e, t) module="head"
output y
)")
            .empty());
}

TEST_CASE("a network without a batch is said") {
  CHECK(doubts("opset 17\ninput x: f32[4,8]\nparam w: f32[8,8]\ny = MatMul(x, w)\noutput y\n") ==
        "W235");
  CHECK(doubts("opset 17\nbaked 4 as B\ninput x: f32[B,8]\nparam w: f32[8,8]\n"
               "y = MatMul(x, w)\noutput y\n")
            .empty());
}

}  // namespace plimsoll
