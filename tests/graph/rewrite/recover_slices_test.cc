// Parts that exporters cut out one by one.
#include <doctest/doctest.h>

#include "tests/support/recovered.h"

namespace plimsoll {

using test::op_names;
using test::Ops;
using test::recovered;

TEST_CASE("slices of one place that the exporter squeezes are parts of one unbind") {
  const auto layer = [](const std::string& one, const std::string& other, const std::string& end) {
    return recovered(
        "opset 20\ninput x: f32[3,B,4]\nconst zero: i64[1] = [0]\n"
        "const one: i64[1] = [1]\nconst two: i64[1] = [2]\nconst three: i64[1] = [3]\n" +
        one + " = Slice(x, zero, one, zero)\n" + other + " = Slice(x, two, " + end +
        ", zero)\na = Squeeze(" + one + ", zero)\nb = Squeeze(" + other +
        ", zero)\ny = Add(a, b)\noutput y\n");
  };
  const Graph graph = layer("val_3", "val_7", "three");
  REQUIRE(op_names(graph) == Ops{"Split", "Squeeze", "Squeeze", "Add"});
  const Node& split = graph.nodes[0];
  CHECK(split.notes.unbound);
  REQUIRE(split.outputs.size() == 3);
  CHECK(split.outputs[0] == graph.nodes[1].inputs[0]);
  CHECK(split.outputs[1] == kNoTensor);
  CHECK(split.outputs[2] == graph.nodes[2].inputs[0]);
  // What people cut is named after what they did.
  CHECK(op_names(layer("slice_1", "slice_2", "three"))[0] == "Slice");
}

// Found by fuzzing; the sanitized build would stop at an overflow.
TEST_CASE("a slice that begins at the largest number is no part of an unbind") {
  const Graph graph = recovered(
      "opset 20\ninput x: f32[3,4]\nconst zero: i64[1] = [0]\n"
      "const far: i64[1] = [9223372036854775807]\nval_3 = Slice(x, far, far, zero)\n"
      "a = Relu(val_3)\noutput a\n");
  CHECK(op_names(graph) == Ops{"Slice", "Relu"});
}

TEST_CASE("a split into places that are squeezed is an unbind; one into longer parts is not") {
  const auto split = [](const std::string& extent, const std::string& reader,
                        const std::string& more = {}) {
    const Graph graph = recovered("opset 17\ninput x: f32[" + extent +
                                  ",B,4]\nconst zero: i64[1] = [0]\n"
                                  "a, b = Split(x) {axis=0}\nc = " +
                                  reader + "\noutput c\n" + more);
    return graph.nodes[0].notes.unbound;
  };
  CHECK(split("2", "Squeeze(a, zero)"));
  CHECK_FALSE(split("2", "Squeeze(a, zero)", "output b\n"));
  CHECK_FALSE(split("2", "Relu(a)"));
  CHECK_FALSE(split("4", "Relu(a)"));
}

}  // namespace plimsoll
