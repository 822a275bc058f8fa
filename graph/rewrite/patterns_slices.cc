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

std::optional<int64_t> single(const Rewrite& r, TensorId tensor) {
  const Tensor& t = r.tensor(tensor);
  return t.has_dims && t.dims.size() == 1 ? t.dims[0].constant() : std::nullopt;
}

constinit const Fragment kSlice("y = Slice(x, begin, end, axes, steps?)");

std::optional<Window> window(const Rewrite& r, NodeId id) {
  const auto slice = kSlice.at(r, id);
  if (!slice || ((*slice)["steps"] != kNoTensor && single(r, (*slice)["steps"]) != 1))
    return std::nullopt;
  const auto begin = single(r, (*slice)["begin"]);
  const auto end = single(r, (*slice)["end"]);
  const auto axis = single(r, (*slice)["axes"]);
  if (!begin || !end || !axis) return std::nullopt;
  const auto normal = normalize_axis(*axis, r.rank((*slice)["x"]));
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
NodeId make_chunks(Finder& f, const Match& m) {
  Rewrite& r = f.r;
  const auto first = window(r, m.at);
  if (!first || first->begin != 0 || !is_of_chunk(r, m.at)) return kNoNode;
  const TensorId x = m["x"];
  std::vector<Window> parts;
  for (const NodeId reader : r.readers(x)) {
    const auto part = window(r, reader);
    if (part && part->axis == first->axis && is_of_chunk(r, reader)) parts.push_back(*part);
  }
  std::sort(parts.begin(), parts.end(),
            [](const Window& a, const Window& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].begin != parts[i - 1].end) return kNoNode;
  }
  const auto extent = r.extent(x, static_cast<size_t>(first->axis));
  if (parts.size() < 2 || !extent || parts.back().end < *extent) return kNoNode;
  std::vector<TensorId> outputs;
  NodeId at = m.at;
  for (const Window& part : parts) {
    outputs.push_back(r.node(part.node).outputs[0]);
    at = std::min(at, part.node);
  }
  Node& split = r.replace(at, "", "Split", {x});
  split.attributes.set("axis", first->axis);
  split.notes.chunks = true;
  for (size_t i = 0; i < outputs.size(); ++i) r.move_output(outputs[i], at, i);
  return at;
}

constinit const Fragment kSqueeze("y = Squeeze(_)");

bool is_squeezed(const Rewrite& r, TensorId part) {
  const auto& readers = r.readers(part);
  return r.uses(part) == readers.size() &&
         std::all_of(readers.begin(), readers.end(),
                     [&](NodeId reader) { return kSqueeze.at(r, reader).has_value(); });
}

// Parts of one place that are squeezed: as one Split, or as the exporter of graphs writes them, a
// slice for each that is read. (What people cut out themselves has the slice's name, not "val_7".)
constexpr int64_t kMostUnbound = 256;

bool is_unbound_part(const Rewrite& r, NodeId id, const std::optional<Window>& part) {
  const TensorId out = part ? r.node(id).outputs[0] : kNoTensor;
  return part && part->begin >= 0 && part->end > part->begin && part->end - part->begin == 1 &&
         r.tensor(out).name.starts_with("val_") && r.uses(out) > 0 && is_squeezed(r, out);
}

NodeId mark_unbound(Finder& f, const Match& m) {
  const Node& split = m.root();
  const auto axis = normalize_axis(split.attributes.integer("axis", 0), f.r.rank(m["x"]));
  const bool unbound =
      axis && std::all_of(split.outputs.begin(), split.outputs.end(), [&](TensorId out) {
        return out != kNoTensor && f.r.extent(out, *axis) == 1 && is_squeezed(f.r, out);
      });
  f.r.graph().nodes[m.at].notes.unbound |= unbound;
  return kNoNode;
}

NodeId unbind(Finder& f, const Match& m) {
  Rewrite& r = f.r;
  const auto first = window(r, m.at);
  if (!is_unbound_part(r, m.at, first)) return kNoNode;
  const TensorId x = m["x"];
  const auto extent = r.extent(x, static_cast<size_t>(first->axis));
  if (!extent || *extent > kMostUnbound) return kNoNode;
  std::vector<std::pair<size_t, TensorId>> parts;
  NodeId at = m.at;
  for (const NodeId reader : r.readers(x)) {
    const auto part = window(r, reader);
    if (!is_unbound_part(r, reader, part) || part->axis != first->axis || part->end > *extent)
      continue;
    parts.emplace_back(part->begin, r.node(reader).outputs[0]);
    at = std::min(at, reader);
  }
  Node& split = r.replace(at, "", "Split", {x});
  split.attributes.set("axis", first->axis);
  split.notes.unbound = true;
  const TensorId own = split.outputs[0];
  split.outputs.assign(static_cast<size_t>(*extent), kNoTensor);
  split.outputs[0] = own;
  for (const auto& [index, part] : parts) r.move_output(part, at, index);
  return at;
}

// The end of a tensor, then its beginning.
bool is_roll(const Match& m) {
  const Rewrite& r = m.r;
  const auto tail = window(r, r.producer(m["tail"]));
  const auto head = window(r, r.producer(m["head"]));
  const auto axis = normalize_axis(m.root().attributes.integer("axis", 0), r.rank(m["x"]));
  return tail && head && axis && tail->axis == head->axis && head->begin == 0 &&
         tail->begin == head->end && static_cast<int64_t>(*axis) == tail->axis &&
         r.tensor(m["x"]).shape == r.tensor(m["y"]).shape && m.root().inputs.size() == 2;
}

constexpr Pattern kSliceRows[] = {
    {.name = "chunks",
     .match = "y = Slice(x)",
     .build = make_chunks,
     .example = "input x: f32[B,8]; const z: i64[1] = [0]; const k: i64[1] = [1];"
                "const \"/Mul\": i64[1] = [4]; const \"/Mul_1\": i64[1] = [8];"
                "a = Slice(x, z, \"/Mul\", k); b = Slice(x, \"/Mul\", \"/Mul_1\", k)",
     .after = "a, b = Split(x) {axis=1} chunks",
     .near_miss = "const n: i64[1] = [7]; b = Slice(x, \"/Mul\", n, k)"},
    {.name = "unbind",
     .match = "y = Slice(x)",
     .build = unbind,
     .example = "input x: f32[B,2,8]; const z: i64[1] = [0]; const i: i64[1] = [1];"
                "const j: i64[1] = [2]; val_1 = Slice(x, z, i, i); val_2 = Slice(x, i, j, i);"
                "a = Squeeze(val_1, i); b = Squeeze(val_2, i)",
     .after = "val_1, val_2 = Split(x) {axis=1} unbound; a = Squeeze(val_1, i);"
              "b = Squeeze(val_2, i)",
     .near_miss = "a = Neg(val_1); b = Neg(val_2)"},
    {.name = "unbind, as a split",
     .match = "y = Split(x)",
     .build = mark_unbound,
     .example = "input x: f32[B,2,8]; const i: i64[1] = [1];"
                "p, q = Split(x) {axis=1, num_outputs=2}; a = Squeeze(p, i); b = Squeeze(q, i)",
     .after = "p, q = Split(x) {axis=1, num_outputs=2} unbound; a = Squeeze(p, i);"
              "b = Squeeze(q, i)",
     .near_miss = "b = Neg(q)"},
    {.name = "roll",
     .match = "tail = Slice(x); head = Slice(x); y = Concat(tail!, head!)",
     .result = "y = plimsoll:Roll(x)",
     .when = is_roll,
     .example = "input x: f32[B,8]; const z: i64[1] = [0]; const s: i64[1] = [3];"
                "const n: i64[1] = [8]; const k: i64[1] = [1]; a = Slice(x, s, n, k);"
                "b = Slice(x, z, s, k); y = Concat(a, b) {axis=1}",
     .near_miss = "y = Concat(b, a) {axis=1}"},
};

}  // namespace

std::span<const Pattern> slices() { return kSliceRows; }

}  // namespace plimsoll::patterns
