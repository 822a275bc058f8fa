// Loop and Scan: the body is written out once for each iteration. Weights and constants of the body
// are added once; values pass from one iteration to the next by name.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "graph/base/checked.h"
#include "graph/base/escape.h"
#include "graph/onnx/inline.h"

namespace plimsoll::onnx {
namespace {

// What a user calls the node on the command line.
const std::string& handle(const NodeSpec& spec) {
  return spec.name.empty() && !spec.outputs.empty() ? spec.outputs.front() : spec.name;
}

// Whether a Loop's body hands its condition on, or never says stop.
bool runs_all_trips(const GraphSpec& body) {
  const std::string& result = body.outputs.front().name;
  const std::string& condition = body.inputs[1].name;
  if (result == condition) return true;
  for (const NodeSpec& node : body.nodes) {
    if (node.outputs.size() != 1 || node.outputs.front() != result) continue;
    if (node.op == "Constant") return true;
    const bool passes = node.op == "Identity" || node.op == "Cast";
    if (!passes || node.inputs.size() != 1) return false;
    const std::string& passed = node.inputs.front();
    const auto makes = [&passed](const NodeSpec& other) {
      return std::find(other.outputs.begin(), other.outputs.end(), passed) != other.outputs.end();
    };
    return passed == condition || std::none_of(body.nodes.begin(), body.nodes.end(), makes);
  }
  return true;  // from outside: the same in every iteration
}

std::vector<int64_t> padded(std::vector<int64_t> values, size_t size) {
  values.resize(size, 0);
  return values;
}

}  // namespace

// How many elements a list of extents has, before shapes are inferred.
std::optional<int64_t> Inliner::length(TensorId tensor) const {
  const Tensor& t = graph_.tensors[tensor];
  if (t.shape && t.shape->size() == 1) return (*t.shape)[0].constant();
  if (t.producer == kNoNode) return std::nullopt;
  const Node& node = graph_.nodes[t.producer];
  if (node.op == "Shape" && node.inputs.size() == 1 && node.attributes.entries().empty()) {
    const auto& whole = graph_.tensors[node.inputs.front()].shape;
    return whole ? std::optional(static_cast<int64_t>(whole->size())) : std::nullopt;
  }
  if (node.op != "Concat") return std::nullopt;
  for (const TensorId part : node.inputs) {
    const Tensor& one = graph_.tensors[part];
    const bool number = one.contents && one.contents->integers.size() == 1;
    const bool grown = one.producer != kNoNode && graph_.nodes[one.producer].op == "Unsqueeze";
    if (!number && !grown) return std::nullopt;
  }
  return static_cast<int64_t>(node.inputs.size());
}

// One extent of a tensor whose shape the file says, read from the list of its extents.
std::optional<int64_t> Inliner::extent(TensorId extents, int64_t index) const {
  const NodeId maker = graph_.tensors[extents].producer;
  if (maker == kNoNode) return std::nullopt;
  const Node& node = graph_.nodes[maker];
  if (node.op != "Shape" || !node.attributes.entries().empty()) return std::nullopt;
  const auto& shape = graph_.tensors[node.inputs.front()].shape;
  const auto axis = shape ? normalize_axis(index, shape->size()) : std::nullopt;
  return axis ? (*shape)[*axis].constant() : std::nullopt;
}

std::optional<int64_t> Inliner::constant(TensorId tensor, int depth) const {
  constexpr int kHops = 16;
  for (int hop = 0; hop < kHops && tensor != kNoTensor; ++hop) {
    const Tensor& t = graph_.tensors[tensor];
    if (t.contents) {
      if (t.contents->integers.size() == 1) return t.contents->integers.front();
      return std::nullopt;
    }
    if (t.producer == kNoNode) return std::nullopt;
    const Node& node = graph_.nodes[t.producer];
    if (!node.domain.empty() || node.inputs.empty()) return std::nullopt;
    if (node.op == "Size") return length(node.inputs.front());
    if (node.op == "Gather" && node.inputs.size() == 2 && depth > 0) {
      const auto index = constant(node.inputs[1], depth - 1);
      return index ? extent(node.inputs[0], *index) : std::nullopt;
    }
    if (node.inputs.size() == 2 && depth > 0) {
      const auto a = constant(node.inputs[0], depth - 1);
      const auto b = constant(node.inputs[1], depth - 1);
      if (a && b && node.op == "Sub" && *b != std::numeric_limits<int64_t>::min())
        return checked_add(*a, -*b);
      if (a && b && node.op == "Greater") return *a > *b;
      if (a && b && node.op == "Less") return *a < *b;
      if (a && b && node.op == "Equal") return *a == *b;
    }
    const bool passes = node.op == "Identity" || node.op == "Cast" || node.op == "Squeeze" ||
                        node.op == "Unsqueeze" || node.op == "Reshape";
    if (!passes) return std::nullopt;
    tensor = node.inputs.front();
  }
  return std::nullopt;
}

std::optional<int64_t> Inliner::asked_trips(const NodeSpec& spec) const {
  const auto asked = options_.trips.find(handle(spec));
  if (asked == options_.trips.end()) return std::nullopt;
  return asked->second;
}

tl::unexpected<Diagnostics> Inliner::unknown_trips(const Frame& frame, const NodeSpec& spec,
                                                   std::string why) const {
  return error("E225", std::move(why), place(frame, spec),
               fmt::format("give the number of iterations with --trip '{}=10'",
                           escape_for_terminal(handle(spec))));
}

Result<void> Inliner::loop(Frame& frame, const NodeSpec& spec) {
  const auto inputs = inputs_of(frame, spec);
  if (!inputs) return tl::make_unexpected(inputs.error());
  const auto* body = spec.extras ? spec.extras->graph("body") : nullptr;
  if (!body || inputs->size() < 2) {
    return error("E247", "a Loop needs a trip count, a condition and a body", place(frame, spec));
  }
  const GraphSpec& graph = model_.graphs[*body];
  const size_t carried = inputs->size() - 2;
  if (graph.inputs.size() != carried + 2 || graph.outputs.size() < carried + 1 ||
      spec.outputs.size() > graph.outputs.size() - 1) {
    return error(
        "E227",
        fmt::format("the body has {} inputs and {} outputs, the node {} and {}",
                    graph.inputs.size(), graph.outputs.size(), inputs->size(), spec.outputs.size()),
        place(frame, spec));
  }
  if (const auto bags = bag_loop(model_, graph)) {
    auto node = embedding_bag(frame, spec, *bags);
    if (node) return add_bags(frame, spec, *bags, std::move(*node));
  }
  constexpr int64_t kForEver = int64_t{1} << 31;  // "while" loops have a huge constant here
  auto trips = asked_trips(spec);
  if (!trips) {
    trips = constant((*inputs)[0]);
    if (!trips || *trips >= kForEver) {
      return unknown_trips(frame, spec, "the file does not say how often the loop runs");
    }
    if (constant((*inputs)[1]) == 0) trips = 0;
    if (*trips > 0 && !runs_all_trips(graph)) {
      warnings_.push_back(
          warning("W216", fmt::format("may end early; all {} iterations are counted", *trips),
                  place(frame, spec)));
    }
  }
  LoopState state;
  state.body = *body;
  state.trips = *trips;
  state.carried.assign(inputs->begin() + 2, inputs->end());
  state.stacked.resize(graph.outputs.size() - 1 - carried);
  state.output_axes.resize(state.stacks(), 0);
  return start_loop(frame, spec, std::move(state));
}

// Rows that all weigh the same: Mul(Gather(table, indices), ones).
std::optional<std::vector<TensorId>> Inliner::looked_up(TensorId rows) const {
  const auto made_by = [&](TensorId tensor, std::string_view op) -> const Node* {
    const NodeId id = tensor == kNoTensor ? kNoNode : graph_.tensors[tensor].producer;
    return id != kNoNode && graph_.nodes[id].op == op ? &graph_.nodes[id] : nullptr;
  };
  const Node* weighed = made_by(rows, "Mul");
  const Node* ones = weighed ? made_by(weighed->inputs[1], "Unsqueeze") : nullptr;
  const Node* gather = weighed ? made_by(weighed->inputs[0], "Gather") : nullptr;
  const bool plain = ones && made_by(ones->inputs[0], "Expand");
  if (!plain || !gather || gather->attributes.integer("axis", 0) != 0) return std::nullopt;
  return gather->inputs;
}

// Without outputs. Nothing where the loop is something else after all.
std::optional<Node> Inliner::embedding_bag(const Frame& frame, const NodeSpec& spec,
                                           const BagLoop& loop) const {
  NodeSpec bag;
  bag.inputs = {loop.table, loop.indices, loop.begins};
  if (!loop.rows.empty()) bag.inputs = {loop.rows, loop.begins};
  auto inputs = inputs_of(frame, bag);
  if (!inputs) return std::nullopt;
  if (!loop.rows.empty()) {
    auto table_and_indices = looked_up(inputs->front());
    if (!table_and_indices) return std::nullopt;
    table_and_indices->push_back(inputs->back());
    inputs = std::move(*table_and_indices);
  }
  // The exporter appends the end of the last bag, unless the module was given it.
  const NodeId ends = graph_.tensors[inputs->back()].producer;
  const bool appended = ends != kNoNode && graph_.nodes[ends].op == "Concat";
  if (appended) inputs->back() = graph_.nodes[ends].inputs.front();
  Node node;
  node.op = "EmbeddingBag";
  node.domain = "plimsoll";
  node.name = frame.prefix + spec.name;
  node.module = spec.module.empty() ? frame.module : spec.module;
  node.attributes.set("mode", loop.reduction);
  node.attributes.set("include_last_offset", int64_t{!appended});
  node.inputs = std::move(*inputs);
  return node;
}

// The bags side by side; where the loop fills a list, they are its one element.
Result<void> Inliner::add_bags(const Frame& frame, const NodeSpec& spec, const BagLoop& loop,
                               Node node) {
  node.outputs = outputs_of(frame, spec);
  if (loop.rows.empty()) return add(std::move(node));
  const TensorId filled = loop.output < node.outputs.size() ? node.outputs[loop.output] : kNoTensor;
  node.outputs = {add_value(frame.prefix + "bags")};
  if (filled != kNoTensor) {
    if (auto held = hold(filled, node.outputs); !held) return held;
  }
  return add(std::move(node));
}

Result<void> Inliner::scan(Frame& frame, const NodeSpec& spec) {
  const auto inputs = inputs_of(frame, spec);
  if (!inputs) return tl::make_unexpected(inputs.error());
  const auto* body = spec.extras ? spec.extras->graph("body") : nullptr;
  const int64_t scanned = spec.attributes.integer("num_scan_inputs", 0);
  if (!body || scanned < 1 || scanned > static_cast<int64_t>(inputs->size())) {
    return error("E247", "a Scan needs a body and num_scan_inputs", place(frame, spec));
  }
  const GraphSpec& graph = model_.graphs[*body];
  const size_t carried = inputs->size() - static_cast<size_t>(scanned);
  if (graph_.opset < 9 || graph.inputs.size() != inputs->size() || graph.outputs.size() < carried ||
      spec.outputs.size() > graph.outputs.size()) {
    return error(
        "E227",
        fmt::format("the body has {} inputs and {} outputs, the node {} and {}",
                    graph.inputs.size(), graph.outputs.size(), inputs->size(), spec.outputs.size()),
        place(frame, spec));
  }
  LoopState state;
  state.scan = true;
  state.body = *body;
  state.carried.assign(inputs->begin(), inputs->begin() + static_cast<ptrdiff_t>(carried));
  state.scanned.assign(inputs->begin() + static_cast<ptrdiff_t>(carried), inputs->end());
  state.scan_axes = padded(spec.attributes.integers("scan_input_axes"), state.scanned.size());
  state.stacked.resize(graph.outputs.size() - carried);
  state.output_axes = padded(spec.attributes.integers("scan_output_axes"), state.stacks());
  auto trips = asked_trips(spec);
  for (size_t i = 0; i < state.scanned.size() && !trips; ++i) {
    if (state.scanned[i] == kNoTensor) continue;
    const auto& shape = graph_.tensors[state.scanned[i]].shape;
    const auto axis = shape ? normalize_axis(state.scan_axes[i], shape->size()) : std::nullopt;
    if (axis) trips = (*shape)[*axis].constant();
  }
  if (!trips) {
    return unknown_trips(frame, spec, "the file does not say how long the scanned inputs are");
  }
  state.trips = *trips;
  return start_loop(frame, spec, std::move(state));
}

TensorId Inliner::add_value(std::string name) {
  Tensor tensor;
  tensor.name = std::move(name);
  return graph_.add_tensor(std::move(tensor));
}

Result<void> Inliner::start_loop(Frame& frame, const NodeSpec& spec, LoopState state) {
  if (state.trips < 0 || (state.trips == 0 && state.stacks() > 0)) {
    return unknown_trips(frame, spec,
                         fmt::format("{} iterations give no output to stack", state.trips));
  }
  // An empty iteration costs time, too.
  const int64_t body = std::max<int64_t>(1, expanded_[state.body]);
  const auto nodes = checked_multiply(state.trips, body);
  if (!nodes || *nodes > options_.limits.nodes - static_cast<int64_t>(graph_.nodes.size())) {
    return over_limit(options_.limits, "nodes", place(frame, spec),
                      fmt::format("{} iterations of {} nodes make more than {} nodes", state.trips,
                                  body, options_.limits.nodes));
  }
  state.targets = outputs_of(frame, spec);
  state.targets.resize(state.carried.size() + state.stacks(), kNoTensor);
  Frame made = inner(frame, spec, state.body);
  if (!state.scan) {
    state.condition =
        graph_.add_tensor(integer_constant(made.prefix + "condition", DType::kBool, {}, {1}));
  }
  made.loop = std::make_unique<LoopState>(std::move(state));
  return push(std::move(made));
}

Result<void> Inliner::advance(Frame& frame) {
  LoopState& state = *frame.loop;
  if (state.next < state.trips) return iterate(frame);
  for (size_t i = 0; i < state.carried.size() && state.trips == 0; ++i) {
    if (state.targets[i] == kNoTensor || state.carried[i] == kNoTensor) continue;
    if (auto copied = add(frame, "Identity", {state.carried[i]}, state.targets[i]); !copied) {
      return copied;
    }
  }
  if (auto stacked = stack_outputs(frame); !stacked) return stacked;
  stack_.pop_back();
  return {};
}

Result<void> Inliner::iterate(Frame& frame) {
  LoopState& state = *frame.loop;
  const auto& formal = model_.graphs[state.body].inputs;
  Frame body;
  body.graph = state.body;
  body.outer = &frame;
  body.prefix = fmt::format("{}{}/", frame.prefix, state.next);
  body.module = frame.module;
  body.bindings = frame.bindings;
  const Tensor number =
      integer_constant(body.prefix + "iteration", DType::kInt64, {}, {state.next});
  size_t input = 0;
  if (!state.scan) {
    body.scope.emplace(formal[input++].name, graph_.add_tensor(number));
    body.scope.emplace(formal[input++].name, state.condition);
  }
  for (const TensorId id : state.carried) body.scope.emplace(formal[input++].name, id);
  for (size_t i = 0; i < state.scanned.size(); ++i, ++input) {
    Attributes attributes;
    attributes.set("axis", state.scan_axes[i]);
    const TensorId index = graph_.add_tensor(number);
    const TensorId slice = add_value(body.prefix + formal[input].name);
    body.scope.emplace(formal[input].name, slice);
    if (auto cut = add(frame, "Gather", {state.scanned[i], index}, slice, std::move(attributes));
        !cut) {
      return cut;
    }
  }
  if (++state.next == state.trips) {
    body.targets.assign(state.first_result(), kNoTensor);
    body.targets.insert(body.targets.end(), state.targets.begin(),
                        state.targets.begin() + static_cast<ptrdiff_t>(state.carried.size()));
  }
  return push(std::move(body), /*with_constants=*/false);
}

void Inliner::receive(LoopState& state, const std::vector<TensorId>& results) const {
  size_t result = state.first_result();
  for (TensorId& id : state.carried) id = results[result++];
  for (auto& parts : state.stacked) parts.push_back(results[result++]);
}

Result<void> Inliner::stack(const Frame& frame, const std::vector<TensorId>& parts, int64_t axis,
                            TensorId target) {
  std::vector<TensorId> slices;
  for (const TensorId part : parts) {
    const TensorId slice = parts.size() == 1 ? target : add_value(frame.prefix + "slice");
    std::vector<TensorId> inputs = {part};
    Attributes attributes;
    if (graph_.opset >= 13) {
      inputs.push_back(graph_.add_tensor(
          integer_constant(frame.prefix + "axes", DType::kInt64, {Dim(1)}, {axis})));
    } else {
      attributes.set("axes", std::vector<int64_t>{axis});
    }
    if (auto made = add(frame, "Unsqueeze", std::move(inputs), slice, std::move(attributes));
        !made) {
      return made;
    }
    slices.push_back(slice);
  }
  if (slices.size() == 1) return {};
  Attributes attributes;
  attributes.set("axis", axis);
  return add(frame, "Concat", std::move(slices), target, std::move(attributes));
}

Result<void> Inliner::stack_outputs(Frame& frame) {
  const LoopState& state = *frame.loop;
  for (size_t i = 0; i < state.stacks(); ++i) {
    const TensorId target = state.targets[state.carried.size() + i];
    if (target == kNoTensor) continue;
    if (auto joined = stack(frame, state.stacked[i], state.output_axes[i], target); !joined)
      return joined;
  }
  return {};
}

}  // namespace plimsoll::onnx
