#include "graph/parallel/layer_matrix.h"

#include <doctest/doctest.h>

#include "graph/ir/text.h"

namespace plimsoll {
namespace {

parallel::LayerMatrix of(std::string_view node, bool stacked) {
  const auto graph = parse_text(
      "opset 17\ninput x: f32[6,32]\nparam w: f32[32,64]\nparam t: f32[64,32]\n"
      "param e: f32[4,64,32]\nrows = Identity(x)\n" +
      std::string(node) + "\noutput y\n");
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  const NodeId last = static_cast<NodeId>(graph->nodes.size() - 1);
  return stacked ? parallel::stacked_matrix(*graph, last) : parallel::dense_matrix(*graph, last);
}

}  // namespace

TEST_CASE("layer matrix: which dimension is of inputs, which of outputs") {
  CHECK(of("y = MatMul(x, w)", false).outputs == 1);
  CHECK(of("y = plimsoll:Linear(x, t)", false).outputs == 0);
  CHECK(of("y = plimsoll:Linear(x, t)", false).inputs == 1);
  CHECK(of("y = Gemm(x, t) {transB=1}", false).outputs == 0);
  CHECK(of("y = MatMul(x, rows)", false).id == kNoTensor);  // no parameter
  CHECK(of("y = Relu(x)", false).id == kNoTensor);
}

TEST_CASE("layer matrix: matrices of experts stand one behind the other") {
  const auto across = of("turned = Transpose(e) {perm=[0, 2, 1]}\ny = MatMul(x, turned)", true);
  CHECK(across.id != kNoTensor);
  CHECK(across.inputs == 2);
  CHECK(across.outputs == 1);
  CHECK(of("y = MatMul(x, e)", true).inputs == 1);
  CHECK(of("y = MatMul(x, w)", true).id == kNoTensor);
}

}  // namespace plimsoll
