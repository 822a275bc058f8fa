// Padding that exporters merged into a convolution, or that frameworks make apart.
#include <doctest/doctest.h>

#include "graph/rewrite/recover.h"
#include "tests/support/recovered.h"

namespace plimsoll {
namespace {

using test::op_names;
using test::Ops;
using test::recovered;

std::string convolution(const std::string& attributes, const std::string& note = {}) {
  return "opset 20\ninput x: f32[B,8,16,16]\nparam c.weight: f32[8,8,4,4]\n"
         "y = Conv(x, c.weight) {kernel_shape=[4,4], " +
         attributes + "}" + note + "\noutput y\n";
}

Shape padded_shape(const Graph& graph) { return *graph.tensors[graph.nodes[0].outputs[0]].shape; }

}  // namespace

TEST_CASE("padding that differs between the sides was a copy before the convolution") {
  // TensorFlow's "same" at stride 2 pads the input.
  const Graph strided = recovered(convolution("strides=[2,2], pads=[1,1,2,2]"));
  CHECK(op_names(strided) == Ops{"Pad", "Conv"});
  CHECK(padded_shape(strided) == Shape{Dim::symbol("B"), 8, 19, 19});
  CHECK(strided.nodes[1].attributes.integers("pads") == std::vector<int64_t>{0, 0, 0, 0});
  // PyTorch's at stride 1 pads what is uneven.
  const Graph same = recovered(convolution("strides=[1,1], auto_pad=\"SAME_UPPER\""));
  CHECK(op_names(same) == Ops{"Pad", "Conv"});
  CHECK(padded_shape(same) == Shape{Dim::symbol("B"), 8, 17, 17});
  CHECK(same.nodes[1].attributes.integers("pads") == std::vector<int64_t>{1, 1, 1, 1});
}

TEST_CASE("even padding is the convolution's own unless the exporter says that it merged a pad") {
  CHECK(op_names(recovered(convolution("pads=[1,1,1,1]"))) == Ops{"Conv"});
  CHECK(op_names(recovered(convolution("pads=[1,1,1,1]", " pad_merged"))) == Ops{"Pad", "Conv"});
  // Other frameworks pad apart themselves.
  CHECK(op_names(recovered(convolution("strides=[2,2], pads=[1,1,2,2]"), "tf2onnx")) ==
        Ops{"Conv"});
}

TEST_CASE("a pad that several convolutions read is one again") {
  const std::string merged = "{kernel_shape=[4,4], pads=[3,3,0,0]} pad_merged\n";
  CHECK(op_names(recovered("opset 20\ninput x: f32[B,8,16,16]\nparam c.weight: f32[8,8,4,4]\n"
                           "y = Conv(x, c.weight) " +
                           merged + "z = Conv(x, c.weight) " + merged + "output y\noutput z\n")) ==
        Ops{"Pad", "Conv", "Conv"});
}

TEST_CASE("a pad that a convolution read beside others is theirs") {
  const auto padded = [](const std::string& last) {
    return recovered(
        "opset 20\ninput x: f32[B,8,16,16]\nparam c.weight: f32[8,8,2,2]\n"
        "const pads: i64[8] = [0,0,0,0,0,0,1," +
        last +
        "]\np = Pad(x, pads)\n"
        "m = MaxPool(p) {kernel_shape=[2,2]}\n"
        "y = Conv(x, c.weight) {kernel_shape=[2,2], pads=[0,0,1,1]} pad_merged\n"
        "output m\noutput y\n");
  };
  CHECK(op_names(padded("1")) == Ops{"Pad", "MaxPool", "Conv"});
  CHECK(op_names(padded("2")) == Ops{"Pad", "MaxPool", "Pad", "Conv"});  // another pad
}

}  // namespace plimsoll
