// Loop and Scan: the body is written out once for each iteration. Weights and constants of the body
// are added once; values pass from one iteration to the next by name.
#include <fmt/format.h>

#include <algorithm>

#include "graph/base/checked.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/onnx/asked_nodes.h"
#include "graph/onnx/inline.h"

namespace plimsoll::onnx {
namespace {

// Whether a Loop's body hands its condition on, or never says stop.
bool runs_all_trips(const GraphSpec& body) {
  const std::string& result = body.outputs.front().name;
  const std::string& condition = body.inputs[1].name;
  if (result == condition) return true;
  for (const NodeSpec& node : body.nodes) {
    if (node.outputs.size() != 1 || node.outputs.front() != result) continue;
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

// "While" loops have a huge constant for their trip count, or none.
constexpr int64_t kForEver = int64_t{1} << 31;

std::vector<int64_t> padded(std::vector<int64_t> values, size_t size) {
  values.resize(size, 0);
  return values;
}

}  // namespace

// Another number of iterations may be asked for in the same message: one is written out meanwhile.
int64_t Inliner::ask_trips(const Frame& frame, const NodeSpec& spec, std::string why) {
  const auto same = [&](const UnknownTrips& one) { return one.handle == handle(spec); };
  if (std::ranges::none_of(unknown_trips_, same)) {
    unknown_trips_.push_back({place(frame, spec), handle(spec), std::move(why), guess_here()});
  }
  return 1;
}

std::optional<Diagnostics> Inliner::unknown_trips() const {
  if (unknown_trips_.empty()) return std::nullopt;
  constexpr size_t kShown = 32;
  const size_t count = unknown_trips_.size();
  std::string settings;
  for (const UnknownTrips& one : unknown_trips_) {
    if (&one - unknown_trips_.data() == kShown) break;
    settings += " " + setting_entry("trip", one.handle, "10");
  }
  std::string why = unknown_trips_.front().why;
  if (count > 1) why += fmt::format("; the same is true for {} more", count - 1);
  Diagnostics told =
      error("E225", std::move(why), unknown_trips_.front().place,
            fmt::format("give the number{} of iterations with{}", count == 1 ? "" : "s", settings))
          .value();
  if (const auto guess = unknown_trips_.front().guess) add_guess(told, 0, graph_.guesses[*guess]);
  return told;
}

Result<void> Inliner::loop(Frame& frame, const NodeSpec& spec) {
  const auto inputs = TRY(inputs_of(frame, spec));
  const auto* body = spec.extras ? spec.extras->graph("body") : nullptr;
  if (!body || inputs.size() < 2) {
    return error("E247", "a Loop needs a trip count, a condition and a body", place(frame, spec));
  }
  const GraphSpec& graph = model_.graphs[*body];
  const size_t carried = inputs.size() - 2;
  if (graph.inputs.size() != carried + 2 || graph.outputs.size() < carried + 1 ||
      spec.outputs.size() > graph.outputs.size() - 1) {
    return error(
        "E227",
        fmt::format("the body has {} inputs and {} outputs, the node {} and {}",
                    graph.inputs.size(), graph.outputs.size(), inputs.size(), spec.outputs.size()),
        place(frame, spec));
  }
  if (const auto bags = bag_loop(model_, graph)) {
    auto node = embedding_bag(frame, spec, *bags);
    if (node) return add_bags(frame, spec, *bags, std::move(*node));
  }
  LoopState state;
  state.body = *body;
  state.node = &spec;
  state.watched = !runs_all_trips(graph);
  if (const int64_t* asked = asked_of(options_.trips, frame.prefix, spec)) {
    used_.insert(asked);
    state.trips = *asked;
    state.watched = false;
  } else if (known_.number(inputs[1]) == 0) {
    state.trips = 0;
  } else {
    const auto trips = known_.number(inputs[0]);
    state.trips = trips && *trips < kForEver ? std::max<int64_t>(0, *trips) : kForEver;
    if (state.trips == kForEver && !state.watched)
      state.trips = ask_trips(frame, spec, "the file does not say how often the loop runs");
  }
  state.carried.assign(inputs.begin() + 2, inputs.end());
  state.stacked.resize(graph.outputs.size() - 1 - carried);
  state.output_axes.resize(state.stacks(), 0);
  return start_loop(frame, spec, std::move(state));
}

// Rows that all weigh the same: Mul(Gather(table, indices), ones), with casts to the table's type
// where the exporter does not optimise. Where it does and sizes are fixed, the ones are an array of
// the file: weights of samples that differ are arguments of the call.
std::optional<std::vector<TensorId>> Inliner::looked_up(TensorId rows) const {
  const auto made_by = [&](TensorId tensor, std::string_view op) -> const Node* {
    while (tensor != kNoTensor && graph_.tensors[tensor].producer != kNoNode) {
      const Node& node = graph_.nodes[graph_.tensors[tensor].producer];
      if (node.op == op) return &node;
      if (node.op != "Cast" && node.op != "CastLike") return nullptr;
      tensor = node.inputs.front();
    }
    return nullptr;
  };
  const Node* weighed = made_by(rows, "Mul");
  const Node* ones = weighed ? made_by(weighed->inputs[1], "Unsqueeze") : nullptr;
  const Node* gather = weighed ? made_by(weighed->inputs[0], "Gather") : nullptr;
  const bool array = weighed && weighed->inputs[1] != kNoTensor &&
                     graph_.tensors[weighed->inputs[1]].kind == TensorKind::kParameter;
  const bool plain = array || (ones && made_by(ones->inputs[0], "Expand"));
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
  const auto inputs = TRY(inputs_of(frame, spec));
  const auto* body = spec.extras ? spec.extras->graph("body") : nullptr;
  const int64_t scanned = spec.attributes.integer("num_scan_inputs", 0);
  if (!body || scanned < 1 || scanned > static_cast<int64_t>(inputs.size())) {
    return error("E247", "a Scan needs a body and num_scan_inputs", place(frame, spec));
  }
  const GraphSpec& graph = model_.graphs[*body];
  const size_t carried = inputs.size() - static_cast<size_t>(scanned);
  if (graph_.opset < 9 || graph.inputs.size() != inputs.size() || graph.outputs.size() < carried ||
      spec.outputs.size() > graph.outputs.size()) {
    return error(
        "E227",
        fmt::format("the body has {} inputs and {} outputs, the node {} and {}",
                    graph.inputs.size(), graph.outputs.size(), inputs.size(), spec.outputs.size()),
        place(frame, spec));
  }
  LoopState state;
  state.scan = true;
  state.body = *body;
  state.node = &spec;
  state.carried.assign(inputs.begin(), inputs.begin() + static_cast<ptrdiff_t>(carried));
  state.scanned.assign(inputs.begin() + static_cast<ptrdiff_t>(carried), inputs.end());
  state.scan_axes = padded(spec.attributes.integers("scan_input_axes"), state.scanned.size());
  state.stacked.resize(graph.outputs.size() - carried);
  state.output_axes = padded(spec.attributes.integers("scan_output_axes"), state.stacks());
  std::optional<int64_t> trips;
  if (const int64_t* asked = asked_of(options_.trips, frame.prefix, spec)) {
    used_.insert(asked);
    trips = *asked;
  }
  for (size_t i = 0; i < state.scanned.size() && !trips; ++i)
    trips = known_.extent(state.scanned[i], state.scan_axes[i]);
  state.trips =
      trips ? *trips
            : ask_trips(frame, spec, "the file does not say how long the scanned inputs are");
  return start_loop(frame, spec, std::move(state));
}

TensorId Inliner::add_value(std::string name) {
  Tensor tensor;
  tensor.name = std::move(name);
  return graph_.add_tensor(std::move(tensor));
}

Result<void> Inliner::afford(Place place, GraphIndex body, int64_t iterations) const {
  const int64_t nodes = std::max<int64_t>(1, expanded_[body]);
  const auto more = checked_multiply(iterations, nodes);
  const auto here = static_cast<int64_t>(graph_.nodes.size()) + idle_iterations_;
  if (more && *more <= options_.limits.nodes - here) return {};
  return over_limit(options_.limits, "nodes", std::move(place),
                    fmt::format("{} iterations of {} nodes make more than {} nodes", iterations,
                                nodes, options_.limits.nodes));
}

Result<void> Inliner::start_loop(Frame& frame, const NodeSpec& spec, LoopState state) {
  if (state.trips < 0 || (state.trips == 0 && state.stacks() > 0)) {
    return error("E225", fmt::format("{} iterations give no output to stack", state.trips),
                 place(frame, spec),
                 "give the number of iterations with " + setting_entry("trip", handle(spec), "10"));
  }
  if (state.trips < kForEver) {
    if (auto good = afford(place(frame, spec), state.body, state.trips); !good) return good;
  }
  state.first_node = graph_.nodes.size();
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

// Loops in loops, and in functions that loops call, multiply: once an iteration is written out, all
// that are to come, in the loops around it too, are counted as like it.
Result<void> Inliner::foresee(const LoopState& state) const {
  std::optional<int64_t> nodes = static_cast<int64_t>(graph_.nodes.size() - state.first_node);
  for (const Frame& frame : stack_) {
    // A condition that is known may end a loop any time: afford() counts its iterations one by one.
    const bool counted = frame.loop && !frame.loop->watched && frame.loop->trips < kForEver;
    if (counted && nodes)
      nodes = checked_multiply(*nodes, std::max<int64_t>(1, frame.loop->trips - frame.loop->next));
  }
  if (nodes && *nodes <= options_.limits.nodes) return {};
  return over_limit(options_.limits, "nodes", {},
                    fmt::format("loops in loops make more than {} nodes", options_.limits.nodes));
}

Result<void> Inliner::advance(Frame& frame) {
  LoopState& state = *frame.loop;
  if (state.next == 1) {
    if (auto few = foresee(state); !few) return few;
  }
  if (state.next < state.trips) return iterate(frame);
  for (size_t i = 0; i < state.carried.size() && !state.written; ++i) {
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
  if (auto good = afford(place(*frame.outer, *state.node), state.body, 1); !good) return good;
  state.began = graph_.nodes.size();
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
  state.written = ++state.next == state.trips;
  if (state.written) {
    body.targets.assign(state.first_result(), kNoTensor);
    body.targets.insert(body.targets.end(), state.targets.begin(),
                        state.targets.begin() + static_cast<ptrdiff_t>(state.carried.size()));
  }
  return push(std::move(body), /*with_constants=*/false);
}

void Inliner::receive(const std::vector<TensorId>& results) {
  const Frame& frame = stack_.back();
  LoopState& state = *frame.loop;
  if (graph_.nodes.size() == state.began) ++idle_iterations_;
  size_t result = state.first_result();
  for (TensorId& id : state.carried) id = results[result++];
  for (auto& parts : state.stacked) parts.push_back(results[result++]);
  if (!state.watched || state.next == state.trips) return;
  const auto goes_on = known_.number(results.front());
  if (goes_on == 0) state.trips = state.next;
  if (goes_on) return;
  state.watched = false;
  if (state.trips == kForEver) {
    state.trips = state.next;
    (void)ask_trips(*frame.outer, *state.node, "the number of iterations depends on data");
  } else {
    warnings_.push_back(
        warning("W216", fmt::format("may end early; all {} iterations are counted", state.trips),
                place(*frame.outer, *state.node)));
  }
}

// Unsqueeze or Squeeze.
Result<void> Inliner::change_axis(const Frame& frame, std::string op, TensorId from, int64_t axis,
                                  TensorId target) {
  std::vector<TensorId> inputs = {from};
  Attributes attributes;
  if (graph_.opset >= 13) {
    inputs.push_back(graph_.add_tensor(
        integer_constant(frame.prefix + "axes", DType::kInt64, {Dim(1)}, {axis})));
  } else {
    attributes.set("axes", std::vector<int64_t>{axis});
  }
  return add(frame, std::move(op), std::move(inputs), target, std::move(attributes));
}

Result<void> Inliner::stack(const Frame& frame, const std::vector<TensorId>& parts, int64_t axis,
                            TensorId target) {
  std::vector<TensorId> slices;
  for (const TensorId part : parts) {
    const TensorId slice = parts.size() == 1 ? target : add_value(frame.prefix + "slice");
    if (auto made = change_axis(frame, "Unsqueeze", part, axis, slice); !made) return made;
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
