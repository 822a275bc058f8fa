// Linear layers whose weights an exporter transposed.
#include <doctest/doctest.h>

#include <set>

#include "tests/support/recovered.h"

namespace plimsoll {

using test::op_names;
using test::Ops;
using test::recovered;

namespace {

// How many weights two products have, which add one bias in modules of these names.
size_t weights(const std::string& first, const std::string& second) {
  const Graph graph = recovered(
      "opset 20\ninput x: f32[B,4,8]\nparam att.bias: f32[8]\n"
      "param val_1: f32[8,8]\nparam val_2: f32[8,8]\n"
      "p = MatMul(x, val_1) module=\"" +
      first + "\"\ny = Add(p, att.bias) module=\"" + first +
      "\"\nt = Tanh(y)\n"
      "q = MatMul(t, val_2) module=\"" +
      second + "\"\nz = Add(q, att.bias) module=\"" + second + "\"\noutput z\n");
  REQUIRE(op_names(graph) == Ops{"Linear", "Tanh", "Linear"});
  return std::set{graph.nodes[0].inputs[1], graph.nodes[2].inputs[1]}.size();
}

}  // namespace

TEST_CASE("calls of one layer share its weight, which an exporter transposed for each") {
  CHECK(weights("att", "att") == 1);
  // Equal biases, all zeros when a model is made, are written once.
  CHECK(weights("att", "fc") == 2);
  CHECK(weights("block", "block") == 2);
}

}  // namespace plimsoll
