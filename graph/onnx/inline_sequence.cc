// Lists of tensors. Exporters write them where code split a tensor or filled a Python list; once
// loops are written out, which tensors a list holds is known, and no list is left: an element that
// is taken is the tensor that was put there.
#include <fmt/format.h>

#include "graph/onnx/inline.h"

namespace plimsoll::onnx {

bool is_sequence_operator(std::string_view op) {
  return op.find("Sequence") != std::string_view::npos || op.find("Optional") == 0;
}

tl::unexpected<Diagnostics> Inliner::unknown_list(const Frame& frame, const NodeSpec& spec) const {
  return error(
      "E226",
      fmt::format("operator '{}' makes lists of tensors, whose sizes are not known", spec.op),
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
std::optional<size_t> Inliner::list_index(TensorId index, size_t size) const {
  const auto at = constant(index);
  if (!at) return std::nullopt;
  return normalize_axis(*at, size);
}

// Parts of given lengths along one axis.
Result<void> Inliner::split_to_list(const Frame& frame, const NodeSpec& spec,
                                    const std::vector<TensorId>& inputs, TensorId target) {
  const bool given = inputs.size() == 2 && inputs[1] != kNoTensor;
  const auto contents = given ? graph_.tensors[inputs[1]].contents : nullptr;
  const auto& shape = given ? graph_.tensors[inputs[1]].shape : std::nullopt;
  if (!contents || !shape || shape->size() != 1) return unknown_list(frame, spec);
  Node node;
  node.op = "Split";
  node.name = frame.prefix + spec.name;
  node.module = spec.module.empty() ? frame.module : spec.module;
  node.attributes.set("axis", spec.attributes.integer("axis", 0));
  node.inputs = inputs;
  if (graph_.opset < 13) {
    node.attributes.set("split", contents->integers);
    node.inputs.pop_back();
  }
  for (size_t i = 0; i < contents->integers.size(); ++i)
    node.outputs.push_back(add_value(frame.prefix + "part"));
  if (auto held = hold(target, node.outputs); !held) return held;
  return add(std::move(node));
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

Result<void> Inliner::sequence(const Frame& frame, const NodeSpec& spec) {
  const auto inputs = inputs_of(frame, spec);
  if (!inputs) return tl::make_unexpected(inputs.error());
  const auto outputs = outputs_of(frame, spec);
  if (outputs.size() != 1) return unknown_list(frame, spec);
  const TensorId target = outputs.front();
  if (spec.op == "SequenceEmpty") return hold(target, {});
  if (spec.op == "SequenceConstruct") return hold(target, *inputs);
  if (spec.op == "SplitToSequence" && spec.attributes.integer("keepdims", 1) != 0)
    return split_to_list(frame, spec, *inputs, target);
  const auto* known = list(*inputs);
  if (!known) return unknown_list(frame, spec);
  if (spec.op == "Identity") return hold(target, *known);
  if (spec.op == "ConcatFromSequence" && !known->empty())
    return join_list(frame, spec, *known, target);
  if (spec.op == "SequenceAt" && inputs->size() == 2) {
    const auto at = list_index((*inputs)[1], known->size());
    if (at) return add(frame, "Identity", {(*known)[*at]}, target);
  }
  if (spec.op == "SequenceInsert" && (inputs->size() == 2 || inputs->size() == 3)) {
    const bool placed = inputs->size() == 3 && (*inputs)[2] != kNoTensor;
    const auto at =
        placed ? list_index((*inputs)[2], known->size() + 1) : std::optional(known->size());
    if (at) {
      std::vector<TensorId> elements = *known;
      elements.insert(elements.begin() + static_cast<ptrdiff_t>(*at), (*inputs)[1]);
      return hold(target, std::move(elements));
    }
  }
  return unknown_list(frame, spec);
}

}  // namespace plimsoll::onnx
