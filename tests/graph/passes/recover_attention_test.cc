// Attention as exporters write it, with its masks.
#include <doctest/doctest.h>

#include "tests/support/recovered.h"

namespace plimsoll {

using test::ops;
using test::Ops;
using test::recovered;

TEST_CASE("multi-head attention makes numbers of a mask before it has the mask's views") {
  const auto layer = [](const std::string& mask) {
    return recovered(
        "opset 17\ninput q: f32[B,2,8,16]\ninput k: f32[B,2,16,8]\n"
        "input v: f32[B,2,8,16]\nconst s: f32[] = [0.5]\nparam attn.mask: bool[8,8]\n"
        "const low: f32[] = [-1000.0]\nconst zero: f32[] = [0.0]\n"
        "const axes: i64[2] = [0, 1]\nqs = Mul(q, s)\nks = Mul(k, s)\n"
        "scores = MatMul(qs, ks)\n" +
        mask +
        "\nmasked = Add(scores, views)\nw = Softmax(masked) {axis=-1}\n"
        "y = MatMul(w, v)\noutput y\n");
  };
  const Graph held = layer(
      "c = Cast(attn.mask) {to=9}\nm = Where(c, low, zero)\n"
      "views = Unsqueeze(m, axes)");
  REQUIRE(held.nodes.back().op == "Attention");
  CHECK(held.nodes.back().inputs.size() == 4);
}

TEST_CASE("a mask of keys repeated for all heads is a copy, which the exporter's views hide") {
  const auto seen = [](const std::string& target) {
    return ops(
        recovered("opset 20\ninput x: f32[B,1,1,24]\nconst grown: i64[4] = [1,4,1,1]\n"
                  "const target: i64[4] = " +
                  target + "\ne = Expand(x, grown)\ny = Reshape(e, target)\noutput y\n"));
  };
  CHECK(seen("[-1,4,1,24]") == Ops{"Expand", "Contiguous"});
  CHECK(seen("[-1,1,4,24]") == Ops{"Expand", "Reshape"});
}

}  // namespace plimsoll
