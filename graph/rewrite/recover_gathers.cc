// Gathers and scatters with tables of positions that eager code never makes: views with strides and
// pools whose windows do not divide the image (PyTorch's exporter of graphs), assignments to a part
// of a tensor (both exporters).
#include <algorithm>

#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

// Reshape to one row, Gather in an order made of shapes: another view of the same elements, as
// adaptive pooling takes of an image with channels innermost.
bool strided_view(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const Node& node = r.node(id);
  if (node.op != "Gather" || !r.made_of_shapes(node.inputs[1])) return false;
  const Node* row = r.made_by(node.inputs[0], "Reshape");
  if (!row || r.rank(node.inputs[0]) != 1) return false;
  const TensorId x = row->inputs[0];
  const Shape& out = *r.tensor(node.outputs[0]).shape;
  if (!r.tensor(x).shape || elements(*r.tensor(x).shape) != elements(out)) return false;
  const auto rank = static_cast<int64_t>(out.size());
  const size_t before = r.deaths();
  const TensorId target = r.add_parameter(node.name + "/shape", DType::kInt64, {Dim(rank)});
  r.replace(id, "", "Reshape", {x, target});
  f.note("view with strides", id, before);
  return true;
}

// Transpose, GatherND of windows, Transpose, mean over them.
bool adaptive_pool(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const Node& node = r.node(id);
  if (node.op != "ReduceMean" || r.rank(node.inputs[0]) != 6) return false;
  const Node* back = r.made_by(node.inputs[0], "Transpose");
  const Node* windows = back ? r.made_by(back->inputs[0], "GatherND") : nullptr;
  const Node* front = windows ? r.made_by(windows->inputs[0], "Transpose") : nullptr;
  if (!front || !r.made_of_shapes(windows->inputs[1])) return false;
  const TensorId x = front->inputs[0];
  const Shape& out = *r.tensor(node.outputs[0]).shape;
  if (r.rank(x) != 4 || out.size() != 4 || !out[2].is_constant() || !out[3].is_constant())
    return false;
  const std::vector<int64_t> sizes{*out[2].constant(), *out[3].constant()};
  const size_t before = r.deaths();
  r.replace(id, "plimsoll", "AdaptiveAveragePool", {x}).attributes.set("sizes", sizes);
  f.note("adaptive average pool", id, before);
  return true;
}

// The rows or columns that windows begin at and reach: [places, reach] positions, made of shapes.
const Node* windows_along(const Rewrite& r, TensorId value, int64_t axis) {
  const Node* gather = r.made_by(value, "Gather");
  const bool right = gather && gather->attributes.integer("axis", 0) == axis &&
                     r.made_of_shapes(gather->inputs[1]) && r.rank(gather->inputs[1]) == 2;
  return right ? gather : nullptr;
}

// torch.nn.functional.unfold: the image padded, its rows gathered, their columns, and both put
// behind the windows [N, C, height, width of a window, rows, columns of windows].
bool unfolded(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const Node& node = r.node(id);
  if (node.op != "Transpose" ||
      node.attributes.integers("perm") != std::vector<int64_t>{0, 1, 2, 4, 3, 5})
    return false;
  const Node* columns = windows_along(r, node.inputs[0], 4);
  const Node* rows = columns ? windows_along(r, columns->inputs[0], 2) : nullptr;
  if (!rows || r.rank(rows->inputs[0]) != 4) return false;
  const Node* pad = r.made_by(rows->inputs[0], "Pad");
  const TensorId x = pad ? pad->inputs[0] : rows->inputs[0];
  std::vector<int64_t> windows;
  for (size_t axis = 2; axis < 6; ++axis) {
    const auto extent = r.extent(node.outputs[0], axis);
    if (!extent) return false;
    windows.push_back(*extent);
  }
  const size_t before = r.deaths();
  r.replace(id, "plimsoll", "Im2Col", {x}).attributes.set("windows", windows);
  f.note("unfolded windows", id, before);
  return true;
}

// Upsampling to the nearest place, as the newer exporter writes what PyTorch decomposes: both axes
// in front, a table of places, and back.
bool nearest(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const Node& node = r.node(id);
  static const std::vector<int64_t> kInFront{2, 3, 0, 1};
  const auto swaps = [](const Node* one) {
    return one && one->attributes.integers("perm") == kInFront;
  };
  const std::string& name = r.tensor(node.outputs[0]).name;
  if (node.op != "Transpose" || !swaps(&node) || !name.starts_with("_unsafe_index")) return false;
  const Node* picked = r.made_by(node.inputs[0], "GatherND");
  const Node* front = picked ? r.made_by(picked->inputs[0], "Transpose") : nullptr;
  if (!swaps(front) || r.rank(front->inputs[0]) != 4) return false;
  const size_t before = r.deaths();
  r.replace(id, "", "Resize", {front->inputs[0]});
  f.note("upsampling to the nearest", id, before);
  return true;
}

// The places of a pool's largest. ONNX counts them over the whole tensor; an exporter takes off
// where each channel begins, which it knows from a pool of windows of one place.
TensorId places_of_pool(const Rewrite& r, TensorId t) {
  const Node* within = r.made_by(t, "Sub");
  const Node* pool = within ? r.made_by(within->inputs[0], "MaxPool") : nullptr;
  const Node* begins = pool ? r.made_by(within->inputs[1], "Slice") : nullptr;
  const Node* ones = begins ? r.made_by(begins->inputs[0], "MaxPool") : nullptr;
  const bool found = ones && pool->outputs.size() == 2 && pool->inputs[0] == ones->inputs[0];
  return found ? pool->outputs[1] : kNoTensor;
}

// The pooled spread out again: zeros, with each value put at its place within its channel.
bool unpool(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const Node& node = r.node(id);
  const Node* spread = node.op == "Reshape" ? r.made_by(node.inputs[0], "ScatterND") : nullptr;
  const Node* column = spread ? r.made_by(spread->inputs[1], "Unsqueeze") : nullptr;
  const Node* values = column ? r.made_by(spread->inputs[2], "Reshape") : nullptr;
  const Node* flat = values ? r.made_by(column->inputs[0], "Reshape") : nullptr;
  const Node* shifted = flat ? r.made_by(flat->inputs[0], "Add") : nullptr;
  if (!shifted || !r.made_of_shapes(spread->inputs[0]) || !r.made_of_shapes(shifted->inputs[1]))
    return false;
  const TensorId x = values->inputs[0];
  TensorId places = shifted->inputs[0];
  const size_t rank = r.rank(x);
  const auto& seen = r.tensor(places).shape;
  if (rank < 3 || seen != r.tensor(x).shape || r.rank(node.outputs[0]) != rank) return false;
  if (const TensorId own = places_of_pool(r, places); own != kNoTensor) places = own;
  const size_t before = r.deaths();
  r.replace(id, "", "MaxUnpool", {x, places});
  f.note("unpooling", id, before);
  return true;
}

// x[window] = y: the copy is in place.
bool assignment(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const Node& node = r.node(id);
  if (node.op != "ScatterND" || !r.graph().producer.starts_with("pytorch")) return false;
  const TensorId x = node.inputs[0];
  const TensorId updates = node.inputs[2];
  const bool plain = node.attributes.string("reduction", "none") == "none";
  if (!plain || !r.made_of_shapes(node.inputs[1]) || r.made_of_shapes(x)) return false;
  const size_t before = r.deaths();
  r.replace(id, "plimsoll", "Assign", {x, updates});
  f.note("assignment to a part", id, before);
  return true;
}

// Whoever asks for the largest values and their positions asks once. Newer exporters name results
// after what asked for values alone ("amax_1"); in a file of TorchScript's both look the same.
void mark_positions(Rewrite& r, NodeId id) {
  const Node& node = r.node(id);
  const bool largest = node.op == "ReduceMax";
  if (!largest && node.op != "ReduceMin") return;
  if (r.tensor(node.outputs[0]).name.starts_with(largest ? "amax" : "amin"))
    r.graph().nodes[id].notes.values_alone = true;
  for (const NodeId reader : r.readers(node.inputs[0])) {
    if (r.node(reader).op == (largest ? "ArgMax" : "ArgMin"))
      r.graph().nodes[id].notes.positions = true;
  }
}

// A map that windows were put together to, whether rolled back or not.
bool of_windows(const Rewrite& r, TensorId map) {
  for (size_t steps = 0; steps < 8; ++steps) {
    const Node* roll = r.made_by(map, "Concat");
    if (!roll) roll = r.made_by(map, "Slice");
    if (!roll) break;
    map = roll->inputs[0];
  }
  const Node* windows = r.made_by(map, "Reshape");
  return windows && r.rank(windows->inputs[0]) == 6;
}

// x[:, :H, :W, :] of windows put together again: attention over windows cuts padding off and makes
// the rest contiguous, in every library, which leaves no node.
bool unpadding(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const Node* last = &r.node(id);
  if (last->op != "Slice" || r.rank(last->outputs[0]) != 4) return false;
  const TensorId out = last->outputs[0];
  const std::vector<NodeId> readers = r.readers(out);
  if (readers.empty() || r.node(readers[0]).op == "Slice") return false;
  TensorId whole = last->inputs[0];
  while (const Node* slice = r.made_by(whole, "Slice")) whole = slice->inputs[0];
  const auto& before = r.tensor(whole).shape;
  if (!before || before->size() != 4) return false;
  const Shape after = *r.tensor(out).shape;
  const bool cut = (*before)[0] == after[0] && (*before)[3] == after[3] &&
                   (*before)[1] != after[1] && (*before)[2] != after[2];
  if (!cut || !of_windows(r, whole)) return false;
  f.copy_for_readers("padding of windows cut off", out);
  return true;
}

// Tokens [B, N, C], or [B, N, heads, C / heads] as attention leaves them.
bool of_tokens(const Rewrite& r, TensorId t) {
  const Node* heads = r.made_by(t, "Transpose");
  return r.rank(t) == 3 ||
         (heads && heads->attributes.integers("perm") == std::vector<int64_t>{0, 2, 1, 3});
}

// x.reshape(B, H, W, C).permute(0, 3, 1, 2) of tokens [B, N, C]: an image again, which every
// library makes contiguous (PVT, Twins, CoaT, SegFormer), and that leaves no node. What has been an
// image all along is permuted as it is.
bool image_of_tokens(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const Node& node = r.node(id);
  if (node.op != "Transpose" || !r.graph().producer.starts_with("pytorch")) return false;
  if (node.attributes.integers("perm") != std::vector<int64_t>{0, 3, 1, 2}) return false;
  const Node* image = r.made_by(node.inputs[0], "Reshape");
  const bool tokens = image && r.uses(node.inputs[0]) == 1 && of_tokens(r, image->inputs[0]);
  const TensorId out = node.outputs[0];
  if (!tokens || r.readers(out).empty()) return false;
  f.copy_for_readers("image of tokens", out);
  return true;
}

// x.transpose(2, 3).reshape(B, C, T, H, W).contiguous() of tokens [B, heads, N, C]: a clip again,
// as the MViTs of torchvision and of SlowFast pool it. (Images [B, C, H, W] made so are views.)
bool clip_of_tokens(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const Node& node = r.node(id);
  if (node.op != "Reshape" || !r.graph().producer.starts_with("pytorch")) return false;
  const Node* flip = r.made_by(node.inputs[0], "Transpose");
  const TensorId out = node.outputs[0];
  if (!flip || r.rank(out) != 5 || r.readers(out).empty() ||
      flip->attributes.integers("perm") != std::vector<int64_t>{0, 1, 3, 2})
    return false;
  f.copy_for_readers("clip of tokens", out);
  return true;
}

}  // namespace

void gathers(Finder& f) {
  const size_t nodes = f.r.nodes();
  for (NodeId id = 0; id < nodes; ++id) {
    if (f.r.dead(id)) continue;
    mark_positions(f.r, id);
    if (unpadding(f, id) || image_of_tokens(f, id) || clip_of_tokens(f, id)) continue;
    if (unfolded(f, id) || nearest(f, id) || unpool(f, id)) continue;
    if (!strided_view(f, id) && !adaptive_pool(f, id)) assignment(f, id);
  }
}

}  // namespace plimsoll::patterns
