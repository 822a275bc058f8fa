#include <doctest/doctest.h>

#include "graph/exporter/weight_roles.h"
#include "tests/support/recovered.h"

namespace plimsoll {
namespace {

using test::op_names;
using test::Ops;
using test::recovered;

}  // namespace

TEST_CASE("a norm whose fold left no bias is put back where the exporter says that it folded one") {
  const auto network = [](const std::string& note) {
    return recovered(
        "opset 20\ninput x: f32[B,3,8,8]\nparam conv1.weight: f32[8,3,3,3]\n"
        "c = Conv(x, conv1.weight) module=\"bn1\" calls=\"/bn1\"" +
        note + "\ny = Relu(c)\noutput y\n");
  };
  CHECK(op_names(network("")) == Ops{"Conv", "Relu"});
  const Graph graph = network(" norm_merged");
  REQUIRE(op_names(graph) == Ops{"Conv", "BatchNormalization", "Relu"});
  CHECK(graph.nodes[0].module == "conv1");
  CHECK(graph.nodes[1].module == "bn1");
  CHECK(graph.nodes[0].inputs.size() == 2);
  const auto& norm = graph.nodes[1].inputs;
  CHECK(graph.tensors[norm[1]].name == "bn1.weight");
  CHECK(text(TensorType{graph.tensors[norm[1]].dtype, *graph.tensors[norm[1]].shape}) == "f32[8]");
  const auto kinds = classify_parameters(graph);
  CHECK(kinds[norm[1]] == WeightRole::kTrained);
  CHECK(kinds[norm[2]] == WeightRole::kTrained);
  CHECK(kinds[norm[3]] == WeightRole::kBuffer);
}

TEST_CASE("a norm folded into a linear layer is put back; the layer's own bias stays") {
  const auto network = [](const std::string& bias) {
    return recovered("opset 20\ninput x: f32[B,16]\nparam fc.weight: f32[8,16]\nparam " + bias +
                     ": f32[8]\nc = Gemm(x, fc.weight, " + bias +
                     ") {transB=1} norm_merged\ny = Relu(c)\noutput y\n");
  };
  const Graph own = network("fc.bias"), invented = network("fc.weight_bias");
  CHECK(op_names(own) == Ops{"Gemm", "BatchNormalization", "Relu"});
  CHECK(own.nodes[0].inputs.size() == 3);
  CHECK(invented.nodes[0].inputs.size() == 2);
}

}  // namespace plimsoll
