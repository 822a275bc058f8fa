// Every row's lowering against its shape rule and what its worked example says: what forward
// computes has the inferred types and the flop, backward reads what is kept, and gradients have the
// sizes of what they are gradients of.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "estimator/step/bound_step.h"
#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/ops/lower.h"
#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

struct Lowered {
  // `at`: extents are the numbers that symbols have there, from the start.
  explicit Lowered(const OpRow& row, const Binding* at = nullptr)
      : example(*parse_example(row.domain, row.name, row.example)) {
    if (at) bind(example.graph, *at);
    Diagnostics warnings;
    REQUIRE(infer(example.graph, decider, warnings));
    const Node& node = example.graph.nodes[0];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      inputs.push_back(node.inputs[i] == kNoTensor
                           ? eager::Value()
                           : input(example.graph.tensors[node.inputs[i]],
                                   i < row.host_from || is_weight_place(node, i)));
    }
    eager::Lowering lowering(machine, example.graph, 0, inputs);
    outputs = row.lower(lowering);
    machine.mark_end_of_forward();
  }

  static void bind(Graph& graph, const Binding& at) {
    const auto evaluate = [&](std::vector<Dim>& dims) {
      for (Dim& d : dims) d = d.evaluate(at).value();
    };
    for (Tensor& t : graph.tensors) {
      if (t.shape) evaluate(*t.shape);
      evaluate(t.dims);
      evaluate(t.divisors);
    }
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

  // Both passes; no value may be asked for after it.
  Step whole_step() {
    backward();
    inputs.clear();
    outputs.clear();
    return machine.finish();
  }

  bool same(const Shape& a, const Shape& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!decider.equal(a[i], b[i])) return false;
    }
    return true;
  }

  inline static const Binding hints = {{"B", 97},  {"S", 107}, {"T", 117}, {"H", 127}, {"K", 11},
                                       {"N", 131}, {"M", 137}, {"R", 139}, {"W", 149}};
  Decider decider{hints};
  Recipe recipe;
  Policy policy;
  eager::Machine machine{recipe, policy, decider};
  Example example;
  std::vector<eager::Value> inputs, outputs;
};

// "in0" or "out1"; the type of what is neither an input nor an output.
std::string label(const Lowered& l, const eager::Value& value) {
  const auto at = [&](const std::vector<eager::Value>& values) {
    return std::ranges::find_if(values, [&](const eager::Value& v) {
      return v.defined() && v.storage() == value.storage();
    });
  };
  if (const auto in = at(l.inputs); in != l.inputs.end())
    return "in" + std::to_string(in - l.inputs.begin());
  if (const auto out = at(l.outputs); out != l.outputs.end())
    return "out" + std::to_string(out - l.outputs.begin());
  return text(TensorType{value.dtype(), value.sizes()});
}

// What backward reads, each storage once.
std::vector<std::string> kept(const Lowered& l) {
  std::vector<const eager::GradNode*> nodes;
  const auto visit = [&](const eager::GradNodeRef& node) {
    if (node && std::ranges::find(nodes, node.get()) == nodes.end()) nodes.push_back(node.get());
  };
  for (const eager::Value& y : l.outputs) visit(y.grad());
  std::vector<eager::StorageRef> seen;
  std::vector<std::string> labels;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const eager::Kept& k : nodes[i]->kept) {
      const bool fresh =
          k.value.on_device() && std::ranges::find(seen, k.value.storage()) == seen.end();
      if (!fresh) continue;
      seen.push_back(k.value.storage());
      labels.push_back(label(l, k.value));
    }
    for (const eager::Edge& edge : nodes[i]->edges) visit(edge.node);
  }
  std::ranges::sort(labels);
  return labels;
}

std::string listed(const char* word, const std::vector<std::string>& labels) {
  std::string text = labels.empty() ? "" : std::string(" | ") + word;
  for (const std::string& one : labels) text += " " + one;
  return text;
}

// What an example says behind its types: "flop 128*B | keeps in0 in1 | grads in0 in1".
std::string worked(const OpRow& row) {
  Lowered l(row);
  std::string text = listed("keeps", kept(l));
  l.backward();
  std::vector<std::string> reached;
  for (const eager::GradNodeRef& leaf : l.machine.leaves()) {
    if (leaf->gradient.defined()) reached.push_back(label(l, leaf->leaf));
  }
  text += listed("grads", reached);
  l.inputs.clear();
  l.outputs.clear();
  const Step step = l.machine.finish();
  Dim flop = 0;
  EventTimes times(step);
  for (size_t i = 0; i < step.end_of_forward; ++i) {
    const int64_t runs = times(i);
    if (step.events[i].kind == Event::Kind::kLaunch)
      flop += Dim(runs) * step.kernels[step.events[i].id].flop;
  }
  return "flop " + flop.text() + text;
}

int64_t leaves_with_gradient(std::string_view domain, std::string_view name) {
  Lowered l(*find_op(domain, name));
  l.backward();
  return std::ranges::count_if(
      l.machine.leaves(), [](const eager::GradNodeRef& leaf) { return leaf->gradient.defined(); });
}

// The windows that forward and backward of such a node have.
std::vector<PoolProblem<Dim>> pools(std::string_view domain, std::string_view name,
                                    std::string_view example) {
  OpRow row = *find_op(domain, name);
  row.example = example;
  std::vector<PoolProblem<Dim>> found;
  const Step step = Lowered(row).whole_step();
  for (const Kernel& kernel : step.kernels) {
    const auto* pool = std::get_if<PoolProblem<Dim>>(&kernel.problem);
    if (pool) found.push_back(*pool);
  }
  return found;
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

TEST_CASE("lowering: flop, what is kept and what gets a gradient are as the example says") {
  for (const OpRow* row : all_ops()) {
    CAPTURE(row->domain);
    CAPTURE(row->name);
    const auto example = parse_example(row->domain, row->name, row->example);
    REQUIRE(example);
    CHECK(example->rest == (row->lower ? worked(*row) : ""));
  }
}

namespace {

// What a step does at a point, an event a line.
std::vector<std::string> events_of(const Step& step, const BoundStep& bound) {
  std::vector<std::string> events;
  EventTimes times(step);
  for (size_t i = 0; i < step.events.size(); ++i) {
    const Event& e = step.events[i];
    std::string what = fmt::format("{} {} ", static_cast<int>(e.kind), name(e.phase));
    if (e.kind == Event::Kind::kLaunch) {
      const KernelAt& k = bound.kernels[e.id];
      what += fmt::format("{} {} flop {} read {} written {}, {} turns, {} times",
                          name(k.kernel_class), k.op, k.flop, k.read, k.written, k.turns, times(i));
    } else {
      what += fmt::format("buffer {} of {} bytes", e.id, bound.buffer_bytes[e.id]);
    }
    events.push_back(std::move(what));
  }
  return events;
}

}  // namespace

TEST_CASE("lowering: binding what was lowered is lowering what was bound") {
  for (const OpRow* row : all_ops()) {
    if (!row->lower) continue;
    CAPTURE(row->domain);
    CAPTURE(row->name);
    const Binding& at = Lowered::hints;
    const Step symbolic = Lowered(*row).whole_step(), numeric = Lowered(*row, &at).whole_step();
    const BoundStep later = bind_step(symbolic, at).value();
    const BoundStep before = bind_step(numeric, {}).value();
    CHECK(events_of(symbolic, later) == events_of(numeric, before));
  }
}

// Of two operands each has a gradient, a product as large as the first.
TEST_CASE("lowering: the gradients of a product take twice its operations") {
  // Three operands; columns for the norms, which the gradients leave out; iterations that are none
  // of autograd's; a product that is made twice; systems that are solved, and a first state of
  // zeros.
  const std::set<std::string_view> kOthers = {"AdaptedWeight", "Bilinear", "EuclideanDist",
                                              "SpectralNorm", "GatedDeltaRule"};
  size_t products = 0;
  for (const OpRow* row : all_ops()) {
    if (!row->lower || kOthers.contains(row->name)) continue;
    const Step step = Lowered(*row).whole_step();
    const BoundStep bound = bind_step(step, Lowered::hints).value();
    int64_t forward = 0, backward = 0;
    EventTimes times(step);
    for (size_t i = 0; i < step.events.size(); ++i) {
      const Event& e = step.events[i];
      if (e.kind != Event::Kind::kLaunch) continue;
      const KernelAt& k = bound.kernels[e.id];
      if (k.kernel_class != KernelClass::kGemm && k.kernel_class != KernelClass::kConv) continue;
      (e.phase == Phase::kBackward ? backward : forward) += times(i) * k.flop;
    }
    CAPTURE(row->domain);
    CAPTURE(row->name);
    CHECK(backward == 2 * forward);
    products += forward > 0;
  }
  CHECK(products > 10);
}

TEST_CASE("lowering: a bias that an activation adds is trained") {
  CHECK(leaves_with_gradient("com.microsoft", "BiasGelu") == 2);
  CHECK(leaves_with_gradient("com.microsoft", "FastGelu") == 2);
}

TEST_CASE("lowering: both passes of a pool have its windows, where they are all alike") {
  PoolProblem<Dim> pool{.n = Dim::symbol("B"), .c = 8};
  pool.in = {1, 13, 9};
  pool.out = {1, 7, 4};
  pool.window = {1, 3, 2};
  pool.pad = {0, 1, 0};
  pool.stride = {1, 2, 2};
  const std::vector<PoolProblem<Dim>> both(2, pool);
  const std::string keys = "kernel_shape=[3,2], strides=[2,2], pads=[1,0,1,0]";
  CHECK(pools("", "MaxPool", "f32[B,8,13,9] {" + keys + "} -> f32[B,8,7,4] i64[B,8,7,4]") == both);
  CHECK(pools("", "AveragePool", "f32[B,8,13,9] {" + keys + "} -> f32[B,8,7,4]") == both);
  pool.counts_padding = true;
  CHECK(pools("", "AveragePool",
              "f32[B,8,13,9] {" + keys + ", count_include_pad=1} -> f32[B,8,7,4]")[1] == pool);
  // Padded as it needs, a column more at the end.
  const auto same = pools("", "AveragePool",
                          "f32[B,8,14,14] {kernel_shape=[4,3], strides=[2,2], "
                          "auto_pad=\"SAME_UPPER\"} -> f32[B,8,7,7]");
  REQUIRE(same.size() == 2);
  CHECK(same[0].pad == std::array<Dim, 3>{0, 1, 0});
  const auto whole = pools("", "GlobalMaxPool", "f32[B,8,5,7] -> f32[B,8,1,1]");
  REQUIRE(whole.size() == 2);
  CHECK(whole[1].window == std::array<Dim, 3>{1, 5, 7});
  const auto adaptive =
      pools("plimsoll", "AdaptiveAveragePool", "f32[B,8,14,12] {sizes=[7,4]} -> f32[B,8,7,4]");
  REQUIRE(adaptive.size() == 2);
  CHECK(adaptive[0].window == std::array<Dim, 3>{1, 2, 3});
  CHECK(adaptive[0].stride == std::array<int64_t, 3>{1, 2, 3});
  // Windows of several sizes, windows with gaps, and a norm that the word for means stands for.
  CHECK(pools("plimsoll", "AdaptiveAveragePool", "f32[B,8,14,14] {sizes=[4,4]} -> f32[B,8,4,4]")
            .empty());
  CHECK(pools("", "MaxPool",
              "f32[B,8,9,9] {kernel_shape=[3,3], dilations=[2,2]} -> f32[B,8,5,5] i64[B,8,5,5]")
            .empty());
  CHECK(pools("", "GlobalLpPool", "f32[B,8,7,7] -> f32[B,8,1,1]").empty());
}

}  // namespace plimsoll
