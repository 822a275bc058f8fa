#include "graph/train/training_rules.h"

#include <doctest/doctest.h>

#include "tests/support/classified.h"

namespace plimsoll {
namespace {

constexpr std::string_view kText = R"(opset 17
input x: f32[B,3,8,8]
param body.conv.weight: f32[8,3,3,3]
param body.conv.bias: f32[8]
param onnx::MatMul_12: f32[8,10]
param head.bias: f32[10]
c = Conv(x, body.conv.weight, body.conv.bias)
g = ReduceMean(c) {axes=[2,3], keepdims=0}
m = MatMul(g, onnx::MatMul_12) module="head"
y = Add(m, head.bias)
output y
)";

std::string trained(const std::vector<TrainingRule>& rules) {
  test::Classified model = test::classified(kText);
  REQUIRE(apply_rules(model.graph, rules, model.kinds));
  std::string letters;
  for (const char* name : {"body.conv.weight", "body.conv.bias", "onnx::MatMul_12", "head.bias"}) {
    REQUIRE(is_weight(model[name]));
    letters += model[name] == WeightRole::kTrained ? 't' : 'f';
  }
  return letters;
}

std::string fault(const std::string& glob) {
  test::Classified model = test::classified(kText);
  const auto done = apply_rules(model.graph, {{glob, false}}, model.kinds);
  REQUIRE_FALSE(done);
  CHECK(done.error()[0].code == "E262");
  return done.error()[0].help;
}

}  // namespace

TEST_CASE("the last rule that matches a weight holds") {
  CHECK(trained({}) == "tttt");
  CHECK(trained({{"body.*", false}}) == "fftt");
  CHECK(trained({{"*", false}, {"head.*", true}}) == "fftt");
  CHECK(trained({{"head.*", true}, {"*", false}}) == "ffff");
  CHECK(trained({{"*", false}, {"*.bias", true}, {"body.*", false}}) == "ffft");
}

TEST_CASE("a weight that an exporter renamed is called after its layer") {
  CHECK(trained({{"head.weight", false}}) == "ttft");
}

TEST_CASE("a rule that names nothing is refused, with the nearest path") {
  CHECK(fault("body").find("'body.*'") != std::string::npos);
  CHECK(fault("heed.bias").find("'head.bias'") != std::string::npos);
  CHECK(fault("body.conv.norm.*").find("'body.conv.") != std::string::npos);
  CHECK(fault("").find("'") != std::string::npos);
}

}  // namespace plimsoll
