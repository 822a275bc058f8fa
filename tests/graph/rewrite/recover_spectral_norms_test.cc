// Weights that an exporter divided by their largest singular value.
#include <doctest/doctest.h>

#include "graph/exporter/weight_roles.h"
#include "tests/support/recovered.h"

namespace plimsoll {

using test::op_names;
using test::Ops;
using test::recovered;

TEST_CASE("a convolution with a divided weight has spectral norm, its vectors are buffers") {
  const Graph graph = recovered(R"(opset 20
input x: f32[B,3,8,8]
param div_2: f32[16,3,4,4]
param div_5: f32[16,8,4,4]
param up.bias: f32[8]
y = Conv(x, div_2) {kernel_shape=[4,4]}
z = ConvTranspose(y, div_5, up.bias) {kernel_shape=[4,4]}
output z
)");
  REQUIRE(op_names(graph) == Ops{"SpectralNorm", "Conv", "SpectralNorm", "ConvTranspose"});
  const std::vector<WeightRole> kinds = classify_parameters(graph);
  const auto check = [&](const Node& node, const Shape& u, const Shape& v) {
    CHECK(kinds[node.inputs[0]] == WeightRole::kTrained);
    CHECK(kinds[node.inputs[1]] == WeightRole::kBuffer);
    CHECK(kinds[node.inputs[2]] == WeightRole::kBuffer);
    CHECK(graph.tensors[node.inputs[1]].shape == u);
    CHECK(graph.tensors[node.inputs[2]].shape == v);
  };
  check(graph.nodes[0], {16}, {48});
  check(graph.nodes[2], {8}, {256});
}

TEST_CASE("a layer that runs twice has one pair of singular vectors") {
  const Graph graph = recovered(
      "opset 20\ninput x: f32[B,8]\nparam div: f32[8,8]\nparam b: f32[8]\n"
      "y = Gemm(x, div, b) {transB=1}\nz = Gemm(y, div, b) {transB=1}\noutput z\n");
  REQUIRE(op_names(graph) == Ops{"SpectralNorm", "Gemm", "SpectralNorm", "Gemm"});
  CHECK(graph.nodes[0].inputs == graph.nodes[2].inputs);
}

TEST_CASE("rows that were normalised for a cosine are no spectral norm, nor is a plain weight") {
  CHECK(op_names(recovered("opset 20\ninput x: f32[B,8]\ninput n: f32[B,1]\nparam div: f32[8,8]\n"
                           "u = Div(x, n)\ny = Gemm(u, div) {transB=1}\noutput y\n")) ==
        Ops{"Div", "Gemm"});
  CHECK(op_names(recovered("opset 20\ninput x: f32[B,3,8,8]\nparam divide.weight: f32[16,3,4,4]\n"
                           "y = Conv(x, divide.weight)\noutput y\n")) == Ops{"Conv"});
}

}  // namespace plimsoll
