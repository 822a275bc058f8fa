// Copies that leave no node, but a source line.
#include <doctest/doctest.h>

#include <algorithm>

#include "graph/train/expand.h"
#include "tests/support/recovered.h"

namespace plimsoll {

using test::op_names;
using test::Ops;
using test::recovered;

TEST_CASE("a line that makes contiguous what it transposes copies it, for all who read it") {
  const auto heads = [](const std::string& note) {
    return recovered(
        "opset 20\ninput x: f32[B,6,8]\n"
        "t = Transpose(x) {perm=[0,2,1]} calls=\"/net\" statements=\"net.py:2 t\"" +
        note +
        "\na = Relu(t) calls=\"/net\" statements=\"net.py:3 a\"\n"
        "b = Tanh(t) calls=\"/net\" statements=\"net.py:4 b\"\n"
        "y = Add(a, b) calls=\"/net\" statements=\"net.py:5\"\noutput y\n");
  };
  const Graph copied = heads(" contiguous");
  REQUIRE(op_names(copied) == Ops{"Transpose", "Contiguous", "Relu", "Tanh", "Add"});
  CHECK(copied.nodes[2].inputs[0] == copied.nodes[1].outputs[0]);
  CHECK(copied.nodes[3].inputs[0] == copied.nodes[1].outputs[0]);
  CHECK(copied.nodes[1].notes.statements == "net.py:2 t");  // of the same line
  CHECK(op_names(heads("")) == Ops{"Transpose", "Relu", "Tanh", "Add"});
}

// Other nodes of such a line are copied by themselves, or not at all.
TEST_CASE("of a line with a copy only what is transposed is copied") {
  const Graph graph = recovered(
      "opset 20\ninput x: f32[B,6,8]\n"
      "a = Relu(x) calls=\"/net\" statements=\"net.py:2 t\" contiguous\n"
      "t = Transpose(a) {perm=[0,2,1]} calls=\"/net\" statements=\"net.py:2 t\" contiguous\n"
      "y = Tanh(t) calls=\"/net\" statements=\"net.py:3 b\"\noutput y\n");
  CHECK(op_names(graph) == Ops{"Relu", "Transpose", "Contiguous", "Tanh"});
}

TEST_CASE("a transposed image of tokens is copied once") {
  const Graph graph = recovered(
      "opset 20\ninput x: f32[B,16,8]\nconst to: i64[4] = [-1, 4, 4, 8]\n"
      "r = Reshape(x, to)\nt = Transpose(r) {perm=[0,3,1,2]} contiguous\n"
      "y = Relu(t)\noutput y\n");
  CHECK(op_names(graph) == Ops{"Reshape", "Transpose", "Contiguous", "Relu"});
}

// diffusers' residual blocks; what is contiguous is not copied, and nothing is in inference.
TEST_CASE("a shortcut's convolution is given a contiguous copy, by its name") {
  const auto shortcut = [](const std::string& module, const std::string& producer) {
    return op_names(
        recovered("opset 20\ninput x: f32[B,8,4,4]\nparam w: f32[8,8,1,1]\n"
                  "a = Relu(x)\ny = Conv(a, w) module=\"" +
                      module + "\"\noutput y\n",
                  producer));
  };
  CHECK(shortcut("resnets.0.conv_shortcut", "pytorch 2.9") == Ops{"Relu", "Contiguous", "Conv"});
  CHECK(shortcut("resnets.0.conv1", "pytorch 2.9") == Ops{"Relu", "Conv"});
  CHECK(shortcut("resnets.0.conv_shortcut", "tf2onnx") == Ops{"Relu", "Conv"});
}

// Is a transposed map copied by `Contiguous` with these attributes?
static bool copies_map(const std::string& attributes, Mode mode) {
  const Graph graph = recovered(
      "opset 20\ninput x: f32[B,6,8]\nparam w: f32[8,6]\n"
      "t = Transpose(x) {perm=[0,2,1]}\nc = plimsoll:Contiguous(t)" +
      attributes + "\ny = Mul(c, w)\noutput y\n");
  Decider decider(Binding{{"B", 4}});
  Recipe recipe;
  recipe.mode = mode;
  const auto expanded = expand(graph, plan_for(graph), recipe, Policy{}, decider);
  REQUIRE(expanded);
  const auto& kernels = expanded->step.kernels;
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const Kernel& k) { return k.kernel_class == KernelClass::kCopy; });
}

TEST_CASE("a copy that is made in training alone is none in inference") {
  CHECK(copies_map("", Mode::kTrain));
  CHECK(copies_map("", Mode::kInference));
  CHECK(copies_map(" {training=1}", Mode::kTrain));
  CHECK_FALSE(copies_map(" {training=1}", Mode::kInference));
}

}  // namespace plimsoll
