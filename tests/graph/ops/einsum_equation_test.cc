#include "graph/ops/einsum_equation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/train/expand.h"

namespace plimsoll::ops {
namespace {

std::optional<std::string> result(std::string equation, std::vector<size_t> ranks) {
  const EinsumEquation e = split_equation(std::move(equation));
  std::vector<std::string> spelled;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const auto labels = spell_labels(e.operands[i], ranks[i]);
    if (!labels) return {};
    spelled.push_back(*labels);
  }
  return result_labels(e, spelled);
}

// A training step of y = Einsum(x, w); none where the shape rule refuses it.
std::optional<Step> step_of(const std::string& equation, const std::string& x,
                            const std::string& w) {
  auto graph = parse_text("opset 20\ninput x: f32" + x + "\nparam w: f32" + w +
                          "\ny = Einsum(x, w) {equation=\"" + equation + "\"}\noutput y\n");
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  Decider decider(Binding{{"B", 4}});
  Diagnostics warnings;
  if (!infer(*graph, decider, warnings)) return {};
  auto expanded = expand(*graph, plan_for(*graph), Recipe{}, Policy{}, decider);
  REQUIRE(expanded);
  return std::move(expanded->step);
}

int64_t products(const Step& step) {
  return std::count_if(step.events.begin(), step.events.end(), [&](const Event& e) {
    return e.kind == Event::Kind::kLaunch && step.kernels[e.id].kernel_class == KernelClass::kGemm;
  });
}

}  // namespace

TEST_CASE("einsum equation: labels of dimensions") {
  CHECK(spell_labels("ab", 2) == "ab");
  CHECK(spell_labels("...ab", 4) == "21ab");
  CHECK(spell_labels("a...", 1) == "a");
  CHECK_FALSE(spell_labels("ab", 3));
  CHECK_FALSE(spell_labels("...ab", 1));
  CHECK_FALSE(spell_labels("...", 10));  // more than NumPy's digits here
  CHECK_FALSE(spell_labels("a1", 2));
  CHECK(split_equation(" ij , jk -> ik ").operands == std::vector<std::string>{"ij", "jk"});
}

TEST_CASE("einsum equation: the result, written or implied") {
  CHECK(result("ij,jk->ik", {2, 2}) == "ik");
  CHECK(result("ij,jk", {2, 2}) == "ik");
  CHECK(result("kb,ba", {2, 2}) == "ak");
  CHECK(result("...ij,jk", {4, 2}) == "21ik");
  CHECK(result("...ij,...jk->...ik", {3, 4}) == "21ik");
  CHECK(result("ii", {2}) == "");
  CHECK_FALSE(result("ij->ik", {2}));
  CHECK_FALSE(result("ij->iij", {2}));
}

// One product forward, two back.
TEST_CASE("einsum equation: what the shape rule lets through runs") {
  for (const std::array<std::string, 3>& c : std::vector<std::array<std::string, 3>>{
           {"bi,ij->bj", "[B,8]", "[8,16]"},
           {"bi,ij", "[B,8]", "[8,16]"},
           {"bbi,ij->bj", "[B,B,8]", "[8,16]"},
           {"iib,ij->bj", "[8,8,B]", "[8,16]"},
           {"XY...,Y...Z->XZ", "[B,8]", "[8,16]"},
           {"...ij,...jk->...ik", "[B,1,8,16]", "[1,5,16,32]"}}) {
    CAPTURE(c[0]);
    auto step = step_of(c[0], c[1], c[2]);
    REQUIRE(step);
    CHECK(products(*step) >= 2);
  }
  CHECK_FALSE(step_of("bi,ij->bjj", "[B,8]", "[8,16]"));
  CHECK_FALSE(step_of("b1,1j->bj", "[B,8]", "[8,16]"));
}

}  // namespace plimsoll::ops
