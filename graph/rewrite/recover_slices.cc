// Slices that stand for one operator: torch.chunk, torch.unbind, torch.roll.
#include <algorithm>

#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

// Where a slice of one axis begins and ends, as written; nothing where steps are taken or it is not
// known.
struct Window {
  NodeId node = kNoNode;
  int64_t axis = 0, begin = 0, end = 0;
};

std::optional<int64_t> single(const Rewrite& r, const Node& node, size_t input) {
  if (input >= node.inputs.size() || node.inputs[input] == kNoTensor) return std::nullopt;
  const Tensor& t = r.tensor(node.inputs[input]);
  if (!t.has_dims || t.dims.size() != 1) return std::nullopt;
  return t.dims[0].constant();
}

std::optional<Window> window(const Rewrite& r, NodeId id) {
  const Node& node = r.node(id);
  if (node.op != "Slice" || node.inputs.size() < 4) return std::nullopt;
  if (node.inputs.size() > 4 && single(r, node, 4) != 1) return std::nullopt;
  const auto begin = single(r, node, 1);
  const auto end = single(r, node, 2);
  const auto axis = single(r, node, 3);
  if (!begin || !end || !axis) return std::nullopt;
  const auto normal = normalize_axis(*axis, r.rank(node.inputs[0]));
  if (!normal) return std::nullopt;
  return Window{id, static_cast<int64_t>(*normal), *begin, *end};
}

// torch.chunk's bounds are products of the chunk's length; what people write is a number.
bool is_of_chunk(const Rewrite& r, NodeId slice) {
  const Node& node = r.node(slice);
  return node.inputs.size() >= 4 && r.tensor(node.inputs[2]).name.find("/Mul") != std::string::npos;
}

// Chunks of a tensor that follow each other from its beginning to its end are windows of one split,
// whose gradients are joined.
bool chunk(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const auto first = window(r, id);
  if (!first || first->begin != 0 || !is_of_chunk(r, id)) return false;
  const TensorId x = r.node(id).inputs[0];
  std::vector<Window> parts;
  for (const NodeId reader : r.readers(x)) {
    const auto part = window(r, reader);
    if (part && part->axis == first->axis && is_of_chunk(r, reader)) parts.push_back(*part);
  }
  std::sort(parts.begin(), parts.end(),
            [](const Window& a, const Window& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].begin != parts[i - 1].end) return false;
  }
  const auto extent = r.extent(x, static_cast<size_t>(first->axis));
  if (parts.size() < 2 || !extent || parts.back().end < *extent) return false;
  std::vector<TensorId> outputs;
  NodeId at = id;
  for (const Window& part : parts) {
    outputs.push_back(r.node(part.node).outputs[0]);
    at = std::min(at, part.node);
  }
  const size_t before = r.deaths();
  Node& split = r.replace(at, "", "Split", {x});
  split.attributes.set("axis", first->axis);
  split.notes.chunks = true;
  for (size_t i = 0; i < outputs.size(); ++i) r.move_output(outputs[i], at, i);
  f.note("chunks", at, before);
  return true;
}

bool is_squeezed(const Rewrite& r, TensorId part) {
  const auto& readers = r.readers(part);
  return r.uses(part) == readers.size() &&
         std::all_of(readers.begin(), readers.end(),
                     [&](NodeId reader) { return r.node(reader).op == "Squeeze"; });
}

// Parts of one place that are squeezed: as one Split, or as the exporter of graphs writes them, a
// slice for each that is read. (What people cut out themselves has the slice's name, not "val_7".)
constexpr int64_t kMostUnbound = 256;

bool is_unbound_part(const Rewrite& r, NodeId id, const std::optional<Window>& part) {
  const TensorId out = part ? r.node(id).outputs[0] : kNoTensor;
  return part && part->begin >= 0 && part->end > part->begin && part->end - part->begin == 1 &&
         r.tensor(out).name.starts_with("val_") && r.uses(out) > 0 && is_squeezed(r, out);
}

bool unbind(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  if (r.node(id).op == "Split") {
    Node& split = r.graph().nodes[id];
    const auto axis = normalize_axis(split.attributes.integer("axis", 0), r.rank(split.inputs[0]));
    for (const TensorId out : split.outputs) {
      if (!axis || out == kNoTensor || r.extent(out, *axis) != 1 || !is_squeezed(r, out))
        return false;
    }
    split.notes.unbound = true;
    return true;
  }
  const auto first = window(r, id);
  if (!is_unbound_part(r, id, first)) return false;
  const TensorId x = r.node(id).inputs[0];
  const auto extent = r.extent(x, static_cast<size_t>(first->axis));
  if (!extent || *extent > kMostUnbound) return false;
  std::vector<std::pair<size_t, TensorId>> parts;
  NodeId at = id;
  for (const NodeId reader : r.readers(x)) {
    const auto part = window(r, reader);
    if (!is_unbound_part(r, reader, part) || part->axis != first->axis || part->end > *extent)
      continue;
    parts.emplace_back(part->begin, r.node(reader).outputs[0]);
    at = std::min(at, reader);
  }
  const size_t before = r.deaths();
  Node& split = r.replace(at, "", "Split", {x});
  split.attributes.set("axis", first->axis);
  split.notes.unbound = true;
  const TensorId own = split.outputs[0];
  split.outputs.assign(static_cast<size_t>(*extent), kNoTensor);
  split.outputs[0] = own;
  for (const auto& [index, part] : parts) r.move_output(part, at, index);
  f.note("unbind", at, before);
  return true;
}

// The end of a tensor, then its beginning.
bool roll(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const Node& node = r.node(id);
  if (node.op != "Concat" || node.inputs.size() != 2) return false;
  const NodeId last = r.producer(node.inputs[0]);
  const NodeId first = r.producer(node.inputs[1]);
  if (last == kNoNode || first == kNoNode) return false;
  const auto tail = window(r, last);
  const auto head = window(r, first);
  if (!tail || !head || tail->axis != head->axis || head->begin != 0) return false;
  const TensorId x = r.node(last).inputs[0];
  const bool whole = r.node(first).inputs[0] == x && tail->begin == head->end &&
                     r.tensor(x).shape == r.tensor(node.outputs[0]).shape;
  const auto axis = normalize_axis(node.attributes.integer("axis", 0), r.rank(x));
  const bool sole = r.uses(node.inputs[0]) == 1 && r.uses(node.inputs[1]) == 1;
  if (!whole || !sole || !axis || static_cast<int64_t>(*axis) != tail->axis) return false;
  const size_t before = r.deaths();
  r.replace(id, "plimsoll", "Roll", {x});
  f.note("roll", id, before);
  return true;
}

}  // namespace

void slices(Finder& f) {
  const size_t nodes = f.r.nodes();
  for (NodeId id = 0; id < nodes; ++id) {
    if (f.r.dead(id)) continue;
    if (!chunk(f, id) && !unbind(f, id)) roll(f, id);
  }
}

}  // namespace plimsoll::patterns
