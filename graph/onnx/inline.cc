#include "graph/onnx/inline.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/exporter/origin.h"
#include "graph/onnx/asked_nodes.h"
#include "graph/ops/op_row.h"

namespace plimsoll::onnx {
namespace {

bool is_constant(const NodeSpec& node) { return node.op == "Constant" && node.domain.empty(); }

std::string describe(const NodeSpec& node, size_t index) {
  if (node.name.empty()) return fmt::format("node {} ({})", index, shortened(node.op));
  return fmt::format("node {} '{}' ({})", index, shortened(node.name), shortened(node.op));
}

}  // namespace

Place Inliner::place(const Frame& frame, const NodeSpec& node) const {
  const auto& nodes = model_.graphs[frame.graph].nodes;
  return {.file = {},
          .node = frame.prefix + describe(node, static_cast<size_t>(&node - nodes.data()))};
}

Result<void> Inliner::run() {
  if (auto named = check_asked_nodes(model_, options_); !named) return named;
  auto counted = TRY(count_expanded(model_, functions_));
  expanded_ = std::move(counted);
  if (expanded_[0] > options_.limits.nodes) return over_limit(options_.limits, "nodes");
  if (auto checked = check_growth(); !checked) return checked;
  if (auto started = start(); !started) return started;
  auto written = write_out();
  graph_.guards = known_.guards();
  if (known_.fault()) return tl::make_unexpected(*known_.fault());
  // What goes wrong after a loop of unknown length may be wrong because of it.
  if (auto unknown = unknown_trips()) return tl::make_unexpected(std::move(*unknown));
  if (!written) return tl::make_unexpected(with_guesses(std::move(written.error())));
  tell();
  return {};
}

// A kilobyte of functions that call each other would become gigabytes of nodes. Who raises the
// limit of nodes has looked at the file.
Result<void> Inliner::check_growth() const {
  constexpr int64_t kAlways = 100'000, kMostGrowth = 64;
  if (options_.limits.nodes > Limits().nodes || expanded_[0] <= kAlways) return {};
  int64_t in_file = 0;
  for (const GraphSpec& graph : model_.graphs) in_file += std::ssize(graph.nodes);
  if (expanded_[0] / kMostGrowth <= in_file) return {};
  return error("E802",
               fmt::format("the file's {} nodes become {} as functions and branches are copied",
                           in_file, expanded_[0]),
               {},
               "if this is meant, raise the limit with " +
                   setting_entry("limit", "nodes", std::to_string(Limits().nodes + 1)));
}

Result<void> Inliner::write_out() {
  while (!stack_.empty()) {
    if (auto stepped = step(); !stepped) return stepped;
  }
  return unpack_outputs();
}

Result<void> Inliner::start() {
  Frame main;
  for (const TensorId input : graph_.inputs) {
    if (!main.scope.emplace(graph_.tensors[input].name, input).second) {
      return error(
          "E222", fmt::format("two inputs are called '{}'", shortened(graph_.tensors[input].name)));
    }
  }
  graph_.nodes.reserve(static_cast<size_t>(expanded_[0]));
  if (auto pushed = push(std::move(main)); !pushed) return pushed;
  return name_outputs(stack_.back());
}

Result<void> Inliner::name_outputs(const Frame& main) {
  for (const ValueSpec& output : model_.graphs[0].outputs) {
    const auto id = main.find(output.name);
    if (!id) {
      return error("E221", fmt::format("output '{}' is not produced by any node, input or "
                                       "initializer",
                                       shortened(output.name)));
    }
    graph_.outputs.push_back(*id);
  }
  return {};
}

void Inliner::tell() {
  notes_.tell(warnings_);
  for (const auto& [which, nodes] : foreign_) {
    const auto& [op, name] = which;
    warnings_.push_back(
        warning("W302", fmt::format("{} has no attribute '{}': ignored at {} node{}", shortened(op),
                                    shortened(name, 60), nodes, nodes == 1 ? "" : "s")));
  }
  warn_of_guesses();
  warn_of_unused();
}

// Frames.

Result<void> Inliner::push(Frame frame, bool with_constants) {
  if (static_cast<int64_t>(stack_.size()) > options_.limits.depth) {
    return over_limit(options_.limits, "depth", {},
                      fmt::format("nested deeper than {}", options_.limits.depth));
  }
  frame.prefix.resize(std::min(frame.prefix.size(), static_cast<size_t>(options_.limits.name)));
  stack_.push_back(std::move(frame));
  if (with_constants) {
    if (auto declared = declare_constants(stack_.back()); !declared) return declared;
  }
  if (stack_.back().loop) return {};  // its iterations have values, each their own
  return declare_values(stack_.back());
}

Result<void> Inliner::declare(Frame& frame, const std::string& name, Tensor tensor) {
  tensor.name = frame.prefix + name;
  const auto [at, fresh] = frame.scope.emplace(name, kNoTensor);
  if (!fresh) {
    std::string makers;
    const auto& nodes = spec_of(frame).nodes;
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (const std::string& output : nodes[i].outputs) {
        if (output == name)
          makers += (makers.empty() ? ": by " : " and by ") + describe(nodes[i], i);
      }
      if (makers.size() > 1000) break;
    }
    const bool of_exporter = graph_.exporter == Exporter::kPyTorch &&
                             graph_.tensors[at->second].kind == TensorKind::kParameter;
    return error("E222",
                 fmt::format("'{}' is {}{}", shortened(name),
                             of_exporter ? "a weight and given again" : "given twice", makers),
                 {},
                 of_exporter ? "PyTorch's exporter called a value as a parameter of the module is "
                               "called: export with optimize=True, or rename the parameter"
                             : "");
  }
  at->second = graph_.add_tensor(std::move(tensor));
  return {};
}

Result<void> Inliner::declare_constants(Frame& frame) {
  const bool by_paths = std::ranges::any_of(spec_of(frame).nodes, [](const NodeSpec& node) {
    return !node.outputs.empty() && node.outputs.front().starts_with('/');
  });
  const auto one = [&](const TensorSpec& spec, const std::string& name, bool node) -> Result<void> {
    notes_.look_at(spec);
    auto tensor = TRY(parameter(spec, options_.limits));
    // Who has a parameter's name is one, however small: what it holds now says nothing.
    const bool vector = is_float(tensor.dtype) && !tensor.shape->empty();
    const ModuleSignature& module = spec_of(frame).signature;
    const bool scalar = is_float(tensor.dtype) && !vector && !node;
    const bool named = (vector && is_parameter_name(name, graph_.exporter)) ||
                       (scalar && graph_.exporter == Exporter::kPyTorch &&
                        is_scalar_parameter(name, module, by_paths));
    const bool weight = module.complete ? module.parameters.contains(name) : named;
    if (weight) tensor.contents = nullptr;
    if (node && !weight) tensor.origin = Origin::kGenerated;
    tensor.weight = module.complete && weight;
    tensor.frozen = module.frozen.contains(name);
    tensor.buffer = module.buffers.contains(name);
    return declare(frame, name, std::move(tensor));
  };
  for (const TensorSpec& spec : spec_of(frame).initializers) {
    if (auto done = one(spec, spec.name, false); !done) return done;
  }
  for (const NodeSpec& node : spec_of(frame).nodes) {
    if (!is_constant(node)) continue;
    if (node.outputs.size() != 1)
      return error("E247", fmt::format("a Constant of {} outputs", node.outputs.size()),
                   place(frame, node));
    const auto bound = with_bindings(frame.bindings.get(), node);
    const auto value = constant_value(bound ? *bound : node);
    if (!value) return error("E247", "a Constant without a value", place(frame, node));
    value->name = node.outputs.front();
    if (auto done = one(*value, node.outputs.front(), true); !done) return done;
  }
  return {};
}

Result<void> Inliner::declare_values(Frame& frame) {
  const GraphSpec& spec = spec_of(frame);
  std::unordered_map<std::string_view, TensorId> targets;
  for (size_t i = 0; i < std::min(spec.outputs.size(), frame.targets.size()); ++i) {
    if (frame.targets[i] != kNoTensor) targets.emplace(spec.outputs[i].name, frame.targets[i]);
  }
  for (const NodeSpec& node : spec.nodes) {
    if (is_constant(node)) continue;
    for (const std::string& output : node.outputs) {
      if (output.empty()) continue;
      const auto target = targets.find(output);
      if (target != targets.end() && frame.scope.emplace(output, target->second).second) continue;
      if (auto done = declare(frame, output, Tensor{}); !done) return done;
    }
  }
  return {};
}

Result<void> Inliner::step() {
  Frame& frame = stack_.back();
  if (frame.loop) return advance(frame);
  auto& nodes = spec_of(frame).nodes;
  if (frame.next == nodes.size()) return finish();
  return visit(frame, nodes[frame.next++]);
}

Result<void> Inliner::finish() {
  Frame& frame = stack_.back();
  std::vector<TensorId> results;
  if (stack_.size() > 1) {
    for (const ValueSpec& output : spec_of(frame).outputs) {
      const auto id = frame.find(output.name);
      if (!id) {
        return error("E221", fmt::format("output '{}' is not produced by any node, input or "
                                         "initializer",
                                         shortened(frame.prefix + output.name)));
      }
      const size_t i = results.size();
      const TensorId target = i < frame.targets.size() ? frame.targets[i] : kNoTensor;
      results.push_back(*id);
      if (target == kNoTensor || target == *id || *id == kNoTensor) continue;
      if (auto copied = add(frame, "Identity", {*id}, target); !copied) return copied;
    }
  }
  if (frame.guess) graph_.guesses[*frame.guess].end = static_cast<TensorId>(graph_.tensors.size());
  stack_.pop_back();
  if (!stack_.empty() && stack_.back().loop) receive(results);
  return {};
}

// Nodes.

Result<void> Inliner::visit(Frame& frame, NodeSpec& spec) {
  if (spec.op.empty()) return error("E214", "has no operator", place(frame, spec));
  if (is_constant(spec)) return {};
  if (const FunctionSpec* function = functions_.called_by(spec)) {
    return call(frame, spec, *function);
  }
  if (spec.domain == "plimsoll") {
    return error("E210", fmt::format("operator 'plimsoll:{}' is not known", shortened(spec.op)),
                 place(frame, spec), "the domain is reserved for this tool");
  }
  if (spec.domain.empty()) {
    if (spec.op == "If") return branch(frame, spec);
    if (spec.op == "Loop") return loop(frame, spec);
    if (spec.op == "Scan") return scan(frame, spec);
    if (is_sequence_operator(spec.op)) return sequence(frame, spec);
  }
  return plain(frame, spec);
}

Result<std::vector<TensorId>> Inliner::inputs_of(const Frame& frame, const NodeSpec& spec) const {
  std::vector<TensorId> ids;
  ids.reserve(spec.inputs.size());
  for (const std::string& name : spec.inputs) {
    const auto id = name.empty() ? kNoTensor : frame.find(name);
    if (!id) {
      return error("E221",
                   fmt::format("input '{}' is not produced by any node, input or initializer",
                               shortened(name)),
                   place(frame, spec));
    }
    ids.push_back(*id);
  }
  return ids;
}

std::vector<TensorId> Inliner::outputs_of(const Frame& frame, const NodeSpec& spec) const {
  std::vector<TensorId> ids;
  ids.reserve(spec.outputs.size());
  for (const std::string& name : spec.outputs) {
    ids.push_back(name.empty() ? kNoTensor : frame.scope.find(name)->second);
  }
  return ids;
}

Result<void> Inliner::plain(Frame& frame, NodeSpec& spec) {
  auto inputs = TRY(inputs_of(frame, spec));
  if (list(inputs)) return sequence(frame, spec);
  Node node;
  node.outputs = outputs_of(frame, spec);
  node.inputs = std::move(inputs);
  auto bound = with_bindings(frame.bindings.get(), spec);
  // The main graph is visited once: its strings move.
  NodeSpec* from = bound ? &*bound : &spec;
  const bool once = bound || stack_.size() == 1;
  const auto take = [once](auto& member) {
    return once ? std::move(member) : std::remove_reference_t<decltype(member)>(member);
  };
  node.attributes = take(from->attributes);
  node.notes = take(from->notes);
  node.name = frame.prefix.empty() ? take(from->name) : frame.prefix + from->name;
  node.module = from->module.empty() ? frame.module : take(from->module);
  node.domain = take(from->domain);
  node.op = take(from->op);
  const auto& listed = spec_of(frame).signature.parameters;
  node.notes.plain_norm =
      has(node, OpRow::kNorm) && !listed.empty() && !listed.contains(node.module + ".weight");
  drop_foreign(node);
  if (from->extras) flatten_tensors(*from->extras, find_op(node.domain, node.op), node.attributes);
  return add(std::move(node));
}

void Inliner::drop_foreign(Node& node) {
  constexpr size_t kMostNoted = 32;
  const OpRow* row = node.attributes.entries().empty() ? nullptr : find_op(node.domain, node.op);
  if (!row) return;
  node.attributes.erase_if([&](const std::string& name) {
    if (has_attribute(*row, name)) return false;
    std::pair<std::string, std::string> key(node.op, name);
    if (foreign_.size() < kMostNoted || foreign_.contains(key)) ++foreign_[std::move(key)];
    return true;
  });
}

Result<void> Inliner::add(Node node) {
  if (static_cast<int64_t>(graph_.nodes.size()) >= options_.limits.nodes) {
    return over_limit(options_.limits, "nodes");
  }
  graph_.add_node(std::move(node));
  return {};
}

Result<void> Inliner::add(const Frame& frame, std::string op, std::vector<TensorId> inputs,
                          TensorId output, Attributes attributes) {
  if (const auto* handed = op == "Identity" ? list(inputs) : nullptr) {
    return hold(output, *handed);
  }
  Node node;
  node.op = std::move(op);
  node.name = frame.prefix;
  node.module = frame.module;
  node.attributes = std::move(attributes);
  node.inputs = std::move(inputs);
  node.outputs = {output};
  return add(std::move(node));
}

Frame Inliner::inner(const Frame& frame, const NodeSpec& spec, GraphIndex graph) const {
  Frame made;
  made.graph = graph;
  made.prefix = frame.prefix + handle(spec) + "/";
  made.module = spec.module.empty() ? frame.module : spec.module;
  made.outer = &frame;
  made.bindings = frame.bindings;
  return made;
}

Result<void> Inliner::call(Frame& frame, const NodeSpec& spec, const FunctionSpec& function) {
  const auto inputs = TRY(inputs_of(frame, spec));
  Frame body = inner(frame, spec, function.body);
  body.outer = nullptr;  // a function sees nothing but its inputs
  const auto& formal = model_.graphs[function.body].inputs;
  for (size_t i = 0; i < formal.size(); ++i) {
    body.scope.emplace(formal[i].name, i < inputs.size() ? inputs[i] : kNoTensor);
  }
  const auto bound = with_bindings(frame.bindings.get(), spec);
  body.bindings = std::make_shared<Bindings>(bindings_of(bound ? *bound : spec, function));
  body.targets = outputs_of(frame, spec);
  return push(std::move(body));
}

}  // namespace plimsoll::onnx
