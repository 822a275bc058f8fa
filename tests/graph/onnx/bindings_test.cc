#include "graph/onnx/bindings.h"

#include <doctest/doctest.h>

#include <memory>

using namespace plimsoll;
using namespace plimsoll::onnx;

namespace {

NodeSpec node_that_refers(const std::string& name, const std::string& reference) {
  NodeSpec node;
  node.op = "Conv";
  node.extras = std::make_unique<NodeExtras>();
  node.extras->references.emplace_back(name, reference);
  return node;
}

}  // namespace

TEST_CASE("bindings: a call's attributes stand before the function's defaults") {
  FunctionSpec function;
  function.defaults.attributes.set("group", int64_t{1});
  function.defaults.attributes.set("alpha", int64_t{7});
  NodeSpec call;
  call.attributes.set("group", int64_t{32});
  const Bindings bindings = bindings_of(call, function);
  const auto bound = with_bindings(&bindings, node_that_refers("group", "group"));
  REQUIRE(bound);
  CHECK(bound->attributes.integer("group", 0) == 32);
  const auto other = with_bindings(&bindings, node_that_refers("beta", "alpha"));
  REQUIRE(other);
  CHECK(other->attributes.integer("beta", 0) == 7);
  CHECK(other->extras->references.empty());
}

TEST_CASE("bindings: a node that refers to nothing, or is of no function, stays as it is") {
  NodeSpec node;
  node.op = "Relu";
  const Bindings bindings;
  CHECK_FALSE(with_bindings(&bindings, node));
  CHECK_FALSE(with_bindings(nullptr, node_that_refers("group", "group")));
  const auto bound = with_bindings(&bindings, node_that_refers("group", "unknown"));
  REQUIRE(bound);
  CHECK(bound->attributes.entries().empty());
}
