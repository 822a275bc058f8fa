// Lists of tensors, and tensors that may be absent. Exporters write them where code split a tensor
// or filled a Python list; once loops are written out, which tensors a list holds is known, and no
// list is left: an element that is taken is the tensor that was put there.
#include <fmt/format.h>

#include <array>

#include "graph/base/among.h"
#include "graph/base/try.h"
#include "graph/onnx/inline.h"

namespace plimsoll::onnx {

bool is_sequence_operator(std::string_view op) {
  constexpr std::array<std::string_view, 12> kOps = {
      "ConcatFromSequence", "Optional",          "OptionalGetElement", "OptionalHasElement",
      "SequenceAt",         "SequenceConstruct", "SequenceEmpty",      "SequenceErase",
      "SequenceInsert",     "SequenceLength",    "SequenceMap",        "SplitToSequence"};
  return among(op, kOps);
}

tl::unexpected<Diagnostics> Inliner::unknown_list(const Frame& frame, const NodeSpec& spec) const {
  return error(
      "E226",
      fmt::format("operator '{}' creates lists of tensors, and their sizes are not known", spec.op),
      place(frame, spec), "export the model without lists of tensors");
}

const std::vector<TensorId>* Inliner::list(const std::vector<TensorId>& inputs) const {
  const auto at = inputs.empty() ? lists_.end() : lists_.find(inputs.front());
  return at == lists_.end() ? nullptr : &at->second;
}

Result<void> Inliner::charge(size_t elements) {
  list_elements_ += elements;
  if (list_elements_ <= static_cast<size_t>(options_.limits.nodes)) return {};
  return over_limit(options_.limits, "nodes", {},
                    fmt::format("lists of more than {} tensors in all", options_.limits.nodes));
}

Result<void> Inliner::hold(TensorId target, std::vector<TensorId> elements) {
  if (auto charged = charge(elements.size()); !charged) return charged;
  lists_[target] = std::move(elements);
  return {};
}

// Where in a list of `size` elements an index points, from its end where negative.
std::optional<size_t> Inliner::list_index(TensorId index, size_t size) {
  const auto at = known_.number(index);
  if (!at) return std::nullopt;
  return normalize_axis(*at, size);
}

// `split` is a list of lengths, or one length of all parts but the last; without it each is 1 long.
std::optional<std::vector<int64_t>> Inliner::parts_of(const NodeSpec& spec,
                                                      const std::vector<TensorId>& inputs) {
  const bool given = inputs.size() == 2 && inputs[1] != kNoTensor;
  auto split = given ? known_.numbers(inputs[1]) : std::vector<int64_t>{1};
  if (!split) return std::nullopt;
  const auto& shape = given ? graph_.tensors[inputs[1]].shape : std::nullopt;
  if (shape && shape->size() == 1) return split;
  const auto whole = known_.extent(inputs.front(), spec.attributes.integer("axis", 0));
  if (!whole || *whole < 0 || split->size() != 1 || split->front() < 1) return std::nullopt;
  const int64_t count = *whole / split->front() + (*whole % split->front() != 0);
  if (count > options_.limits.nodes) return std::nullopt;
  std::vector<int64_t> parts(static_cast<size_t>(count), split->front());
  if (*whole % split->front() != 0) parts.back() = *whole % split->front();
  return parts;
}

// Parts along one axis, which goes where each is one long and keepdims says so.
Result<void> Inliner::split_to_list(const Frame& frame, const NodeSpec& spec,
                                    const std::vector<TensorId>& inputs, TensorId target) {
  const auto parts = inputs.empty() ? std::nullopt : parts_of(spec, inputs);
  if (!parts || parts->empty()) return unknown_list(frame, spec);
  if (auto charged = charge(parts->size()); !charged) return charged;
  const int64_t axis = spec.attributes.integer("axis", 0);
  Node node;
  node.op = "Split";
  node.name = frame.prefix + spec.name;
  node.module = spec.module.empty() ? frame.module : spec.module;
  node.notes = spec.notes;
  node.attributes.set("axis", axis);
  node.inputs = {inputs.front()};
  const bool listed = inputs.size() == 2 && inputs[1] != kNoTensor &&
                      graph_.tensors[inputs[1]].shape &&
                      graph_.tensors[inputs[1]].shape->size() == 1;
  if (graph_.opset < 13) {
    node.attributes.set("split", *parts);
  } else {
    node.inputs.push_back(listed ? inputs[1]
                                 : graph_.add_tensor(integer_constant(
                                       frame.prefix + "split", DType::kInt64,
                                       {Dim(static_cast<int64_t>(parts->size()))}, *parts)));
  }
  for (size_t i = 0; i < parts->size(); ++i)
    node.outputs.push_back(add_value(frame.prefix + "part"));
  std::vector<TensorId> elements = node.outputs;
  if (auto added = add(std::move(node)); !added) return added;
  const bool squeezes = inputs.size() == 1 && spec.attributes.integer("keepdims", 1) == 0;
  for (size_t i = 0; i < elements.size() && squeezes; ++i) {
    const TensorId part = elements[i];
    elements[i] = add_value(frame.prefix + "element");
    if (auto done = change_axis(frame, "Squeeze", part, axis, elements[i]); !done) return done;
  }
  return hold(target, std::move(elements));
}

Result<void> Inliner::join_list(const Frame& frame, const NodeSpec& spec,
                                const std::vector<TensorId>& parts, TensorId target) {
  if (auto charged = charge(parts.size()); !charged) return charged;
  const NodeId first = parts.empty() ? kNoNode : graph_.tensors[parts.front()].producer;
  const bool bags = first != kNoNode && graph_.nodes[first].op == "EmbeddingBag";
  if (bags && parts.size() == 1) return add(frame, "Identity", parts, target);
  const int64_t axis = spec.attributes.integer("axis", 0);
  if (spec.attributes.integer("new_axis", 0) != 0) return stack(frame, parts, axis, target);
  Attributes attributes;
  attributes.set("axis", axis);
  return add(frame, "Concat", parts, target, std::move(attributes));
}

// A network that returns a list returns what is in it.
Result<void> Inliner::unpack_outputs() {
  std::vector<TensorId> outputs;
  for (const TensorId output : graph_.outputs) {
    const auto* elements = list({output});
    if (auto charged = charge(elements ? elements->size() : 0); !charged) return charged;
    if (elements) outputs.insert(outputs.end(), elements->begin(), elements->end());
    if (!elements) outputs.push_back(output);
  }
  graph_.outputs = std::move(outputs);
  return {};
}

void Inliner::become_constant(TensorId target, DType dtype, int64_t value) {
  Tensor& tensor = graph_.tensors[target];
  tensor = integer_constant(tensor.name, dtype, {}, {value});
}

// A tensor that may be absent is that tensor, or nothing.
Result<void> Inliner::optional(const Frame& frame, const NodeSpec& spec,
                               const std::vector<TensorId>& inputs, TensorId target) {
  const bool absent = inputs.empty() || inputs.front() == kNoTensor || absent_.contains(inputs[0]);
  if (spec.op == "OptionalHasElement") {
    become_constant(target, DType::kBool, absent ? 0 : 1);
    return {};
  }
  if (absent && spec.op == "Optional") {
    absent_.insert(target);
    return {};
  }
  if (absent) return error("E226", "reads the value of an empty optional", place(frame, spec));
  return add(frame, "Identity", {inputs.front()}, target);
}

// SequenceInsert and SequenceErase: at the end, unless a position is given.
Result<void> Inliner::change_list(const Frame& frame, const NodeSpec& spec,
                                  const std::vector<TensorId>& inputs,
                                  std::vector<TensorId> elements, TensorId target) {
  const bool inserts = spec.op == "SequenceInsert";
  const size_t position = inserts ? 2 : 1;
  const bool placed = inputs.size() > position && inputs[position] != kNoTensor;
  if (inputs.size() < position || (!inserts && elements.empty())) return unknown_list(frame, spec);
  const size_t end = elements.size() - (inserts ? 0 : 1);
  const auto at = placed ? list_index(inputs[position], end + 1) : std::optional(end);
  if (!at) return unknown_list(frame, spec);
  const auto place = elements.begin() + static_cast<ptrdiff_t>(*at);
  if (inserts) {
    elements.insert(place, inputs[1]);
  } else {
    elements.erase(place);
  }
  return hold(target, std::move(elements));
}

// An element of a list is called by another name; what the graph returns is a tensor of its own.
Result<void> Inliner::pick(Frame& frame, const NodeSpec& spec, TensorId element) {
  const auto& returned = spec_of(frame).outputs;
  const auto name = frame.scope.find(spec.outputs.front());
  const bool returns = std::ranges::any_of(
      returned, [&](const ValueSpec& output) { return output.name == spec.outputs.front(); });
  if (returns) return add(frame, "Identity", {element}, name->second);
  name->second = element;
  return {};
}

Result<void> Inliner::sequence(Frame& frame, const NodeSpec& spec) {
  const auto inputs = TRY(inputs_of(frame, spec));
  const auto outputs = outputs_of(frame, spec);
  if (outputs.size() != 1 || outputs.front() == kNoTensor) return unknown_list(frame, spec);
  const TensorId target = outputs.front();
  if (spec.op.starts_with("Optional")) return optional(frame, spec, inputs, target);
  if (spec.op == "SequenceEmpty") return hold(target, {});
  if (spec.op == "SequenceConstruct") return hold(target, inputs);
  if (spec.op == "SplitToSequence") return split_to_list(frame, spec, inputs, target);
  const auto* known = list(inputs);
  if (!known) return unknown_list(frame, spec);
  if (spec.op == "Identity") return hold(target, *known);
  if (spec.op == "ConcatFromSequence" && !known->empty())
    return join_list(frame, spec, *known, target);
  if (spec.op == "SequenceLength") {
    become_constant(target, DType::kInt64, static_cast<int64_t>(known->size()));
    return {};
  }
  if (spec.op == "SequenceAt" && inputs.size() == 2) {
    const auto at = list_index(inputs[1], known->size());
    if (at) return pick(frame, spec, (*known)[*at]);
  }
  if (spec.op == "SequenceInsert" || spec.op == "SequenceErase")
    return change_list(frame, spec, inputs, *known, target);
  return unknown_list(frame, spec);
}

}  // namespace plimsoll::onnx
