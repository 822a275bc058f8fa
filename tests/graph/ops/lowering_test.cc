// Every row's lowering against its shape rule, on the row's worked example: what forward computes
// has the inferred types, and gradients have the sizes of what they are gradients of.
#include <doctest/doctest.h>

#include <algorithm>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/ops/lower.h"
#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

struct Lowered {
  explicit Lowered(const OpRow& row) : example(*parse_example(row.domain, row.name, row.example)) {
    Diagnostics warnings;
    REQUIRE(infer(example.graph, decider, warnings));
    const Node& node = example.graph.nodes[0];
    std::vector<eager::Value> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      inputs.push_back(node.inputs[i] == kNoTensor
                           ? eager::Value()
                           : input(example.graph.tensors[node.inputs[i]], i < row.host_from));
    }
    eager::Lowering lowering(machine, example.graph, 0, std::move(inputs));
    outputs = row.lower(lowering);
  }

  eager::Value input(const Tensor& t, bool data) {
    if (!data) return machine.host(t.dtype, *t.shape);
    if (is_float(t.dtype)) return machine.parameter(t.dtype, *t.shape);
    return machine.resident(t.dtype, *t.shape, Role::kInput);
  }

  void backward() {
    std::vector<eager::Value> ones;
    for (const eager::Value& y : outputs) {
      ones.push_back(y.requires_grad() ? eager::fill(machine, y.dtype(), y.sizes())
                                       : eager::Value());
    }
    machine.enter(Phase::kBackward, 0);
    machine.backward(outputs, ones);
  }

  bool same(const Shape& a, const Shape& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!decider.equal(a[i], b[i])) return false;
    }
    return true;
  }

  Binding hints{{"B", 97}, {"S", 107}, {"T", 117}, {"H", 127}, {"K", 11}, {"N", 131}, {"M", 137}};
  Decider decider{hints};
  Recipe recipe;
  Policy policy;
  eager::Machine machine{recipe, policy, decider};
  Example example;
  std::vector<eager::Value> outputs;
};

int64_t leaves_with_gradient(std::string_view domain, std::string_view name) {
  Lowered l(*find_op(domain, name));
  l.backward();
  return std::ranges::count_if(
      l.machine.leaves(), [](const eager::GradNodeRef& leaf) { return leaf->gradient.defined(); });
}

}  // namespace

TEST_CASE("lowering: results have the inferred types, gradients the sizes of their tensors") {
  for (const OpRow* row : all_ops()) {
    if (!row->lower) continue;
    CAPTURE(row->domain);
    CAPTURE(row->name);
    Lowered l(*row);
    const Node& node = l.example.graph.nodes[0];
    for (size_t i = 0; i < l.outputs.size() && i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoTensor || !l.outputs[i].defined()) continue;
      const Tensor& t = l.example.graph.tensors[node.outputs[i]];
      CAPTURE(i);
      const std::string inferred = text(TensorType{t.dtype, *t.shape});
      const std::string computed = text(TensorType{l.outputs[i].dtype(), l.outputs[i].sizes()});
      CAPTURE(inferred);
      CAPTURE(computed);
      CHECK(l.same(*t.shape, l.outputs[i].sizes()));
      CHECK(bool(t.dtype == l.outputs[i].dtype()));
    }
    l.backward();
    for (const eager::GradNodeRef& leaf : l.machine.leaves()) {
      if (leaf->gradient.defined()) CHECK(l.same(leaf->gradient.sizes(), leaf->leaf.sizes()));
    }
  }
}

TEST_CASE("lowering: a bias that an activation adds is trained") {
  CHECK(leaves_with_gradient("com.microsoft", "BiasGelu") == 2);
  CHECK(leaves_with_gradient("com.microsoft", "FastGelu") == 2);
}

}  // namespace plimsoll
