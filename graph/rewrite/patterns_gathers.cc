// Gathers and scatters with tables of positions that eager code never makes: views with strides and
// pools whose windows do not divide the image (PyTorch's exporter of graphs); copies that leave no
// node.
#include <algorithm>

#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

// Gathered in an order made of shapes: another view of the same elements, as adaptive pooling takes
// of an image with channels innermost.
bool is_view_with_strides(const Match& m) {
  const auto& before = m.r.tensor(m["x"]).shape;
  return m.r.input_independent(m["at"]) && m.r.rank(m["row"]) == 1 && before &&
         elements(*before) == elements(*m.r.tensor(m["y"]).shape);
}
NodeId make_reshape(Finder& f, const Match& m) {
  const auto rank = static_cast<int64_t>(f.r.rank(m["y"]));
  const TensorId target = f.r.add_parameter(m.root().name + "/shape", DType::kInt64, {Dim(rank)});
  f.r.replace(m.at, "", "Reshape", {m["x"], target});
  return m.at;
}

bool is_adaptive_pool(const Match& m) {
  return m.r.rank(m["back"]) == 6 && m.r.input_independent(m["at"]) && m.r.rank(m["x"]) == 4 &&
         m.r.rank(m["y"]) == 4 && m.r.extent(m["y"], 2) && m.r.extent(m["y"], 3);
}
void set_sizes(const Match& m, Attributes& attributes) {
  attributes.set("sizes", std::vector<int64_t>{*m.r.extent(m["y"], 2), *m.r.extent(m["y"], 3)});
}

// The rows or columns that windows begin at and reach: [places, reach] positions, made of shapes.
bool are_windows(const Match& m) {
  for (const std::string_view at : {"rows", "columns"}) {
    if (!m.r.input_independent(m[at]) || m.r.rank(m[at]) != 2) return false;
  }
  for (size_t axis = 2; axis < 6; ++axis) {
    if (!m.r.extent(m["y"], axis)) return false;
  }
  return m.r.rank(m["image"]) == 4;
}
void set_windows(const Match& m, Attributes& attributes) {
  std::vector<int64_t> windows;
  for (size_t axis = 2; axis < 6; ++axis) windows.push_back(*m.r.extent(m["y"], axis));
  attributes.set("windows", windows);
}

bool is_upsampling(const Match& m) {
  return m.r.tensor(m["y"]).name.starts_with("_unsafe_index") && m.r.rank(m["x"]) == 4;
}

// The places of a pool's largest. ONNX counts them over the whole tensor; an exporter takes off
// where each channel begins, which it knows from a pool of windows of one place.
constinit const Fragment kPlacesOfPool(
    "p, places = MaxPool(x); y = Sub(places, Slice(MaxPool(x)))");

bool is_unpooling(const Match& m) {
  const size_t rank = m.r.rank(m["x"]);
  return m.node("s").attributes.string("reduction", "none") == "none" &&
         m.r.input_independent(m["zeros"]) && m.r.input_independent(m["begins"]) && rank >= 3 &&
         m.r.tensor(m["places"]).shape == m.r.tensor(m["x"]).shape && m.r.rank(m["y"]) == rank;
}
NodeId make_unpool(Finder& f, const Match& m) {
  const TensorId own = kPlacesOfPool.in(f.r, m["places"], "places");
  f.r.replace(m.at, "", "MaxUnpool", {m["x"], own == kNoTensor ? m["places"] : own});
  return m.at;
}

// Rows added to zeros, where one number each says, and the sum added: index_add().
bool is_index_add(const Match& m) {
  const Shape& to = *m.r.tensor(m["y"]).shape;
  return m.r.input_independent(m["zeros"]) && to.size() == 2 && m.r.extent(m["i"], 1) == 1 &&
         m.r.rank(m["i"]) == 2 && m.node("s").attributes.integer("axis", 0) == 0 &&
         m.r.tensor(m["u"]).shape == m.r.tensor(m["rows"]).shape && m.r.tensor(m["x"]).shape == to;
}

NodeId copy_result(Finder& f, const Match& m) { return f.copy_for_readers(m["y"]); }

constinit const Fragment kSliced("s = Slice(x)");
constinit const Fragment kRolled("s = Slice|Concat(x)");
constinit const Fragment kReshaped("s = Reshape(x)");

// A map that windows were put together to, whether rolled back or not.
bool of_windows(const Rewrite& r, TensorId map) {
  const TensorId windows = kReshaped.in(r, kRolled.behind(r, map), "x");
  return windows != kNoTensor && r.rank(windows) == 6;
}

// x[:, :H, :W, :], the last of the slices.
bool cuts_padding_off(const Match& m) {
  const Rewrite& r = m.r;
  const auto& readers = r.readers(m["y"]);
  if (r.rank(m["y"]) != 4 || readers.empty() || kSliced.at(r, readers[0])) return false;
  const TensorId whole = kSliced.behind(r, m["x"]);
  const auto& before = r.tensor(whole).shape;
  if (!before || before->size() != 4) return false;
  const Shape& after = *r.tensor(m["y"]).shape;
  return (*before)[0] == after[0] && (*before)[3] == after[3] && (*before)[1] != after[1] &&
         (*before)[2] != after[2] && of_windows(r, whole);
}

constinit const Fragment kHeads("t = Transpose(_) {perm=[0,2,1,3]}");

// Tokens [B, N, C], or [B, N, heads, C / heads] as attention leaves them.
bool is_image_of_tokens(const Match& m) {
  return !m.r.readers(m["y"]).empty() &&
         (m.r.rank(m["tokens"]) == 3 || kHeads.of(m.r, m["tokens"]));
}
bool is_clip(const Match& m) { return m.r.rank(m["y"]) == 5 && !m.r.readers(m["y"]).empty(); }

// Whoever asks for the largest values and their positions asks once. Newer exporters name results
// after what asked for values alone ("amax_1"); in a file of TorchScript's both look the same.
NodeId mark(Finder& f, const Match& m, std::string_view only_values, const Fragment& positions) {
  NodeNotes& notes = f.r.graph().nodes[m.at].notes;
  notes.values_alone = f.r.tensor(m["y"]).name.starts_with(only_values);
  const auto& readers = f.r.readers(m["x"]);
  notes.positions = std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return positions.at(f.r, reader).has_value();
  });
  return kNoNode;
}
constinit const Fragment kLargestAt("p = ArgMax(_)"), kSmallestAt("p = ArgMin(_)");
NodeId mark_largest(Finder& f, const Match& m) { return mark(f, m, "amax", kLargestAt); }
NodeId mark_smallest(Finder& f, const Match& m) { return mark(f, m, "amin", kSmallestAt); }

constexpr Pattern kGatherRows[] = {
    {.name = "largest values and their positions",
     .match = "y = ReduceMax(x)",
     .build = mark_largest,
     .example = "input x: f32[B,8]; y = ReduceMax(x) {axes=[1]}; i = ArgMax(x) {axis=1}",
     .after = "y = ReduceMax(x) {axes=[1]} positions; i = ArgMax(x) {axis=1}",
     .near_miss = "i = ArgMin(x) {axis=1}"},
    {.name = "smallest values alone",
     .match = "y = ReduceMin(x)",
     .build = mark_smallest,
     .example = "input x: f32[B,8]; amin_1 = ReduceMin(x) {axes=[1]}",
     .after = "amin_1 = ReduceMin(x) {axes=[1]} values_alone",
     .near_miss = "amin_1 = Neg(x); min_1 = ReduceMin(x) {axes=[1]}"},
    // Attention over windows makes what is left contiguous, in every library.
    {.name = "padding of windows cut off",
     .match = "y = Slice(x)",
     .when = cuts_padding_off,
     .build = copy_result,
     .example = "input w: f32[B,2,2,7,7,8]; const s: i64[4] = [-1,14,14,8]; const z: i64[1] = [0];"
                "const e: i64[1] = [12]; const i: i64[1] = [1]; const j: i64[1] = [2];"
                "x = Reshape(w, s); a = Slice(x, z, e, i); y = Slice(a, z, e, j); v = Neg(y)",
     .after = "x = Reshape(w, s); a = Slice(x, z, e, i); y = Slice(a, z, e, j);"
              "\"\" = plimsoll:Contiguous(y); v = Neg(\"\")",
     .near_miss = "input w: f32[B,4,49,8]"},
    // x.reshape(B, H, W, C).permute(0, 3, 1, 2) of tokens: an image again, which every library
    // makes contiguous (PVT, Twins, CoaT, SegFormer). What has been an image all along is permuted
    // as it is.
    {.name = "image of tokens",
     .exporter = Exporter::kPyTorch,
     .match = "y = Transpose(Reshape(tokens)!) {perm=[0,3,1,2]}",
     .when = is_image_of_tokens,
     .build = copy_result,
     .example = "input x: f32[B,16,8]; const s: i64[4] = [-1,4,4,8]; r = Reshape(x, s);"
                "y = Transpose(r) {perm=[0,3,1,2]}; v = Neg(y)",
     .after = "r = Reshape(x, s); y = Transpose(r) {perm=[0,3,1,2]};"
              "\"\" = plimsoll:Contiguous(y); v = Neg(\"\")",
     .near_miss = "input x: f32[B,2,8,8]"},
    // x.transpose(2, 3).reshape(B, C, T, H, W).contiguous() of tokens [B, heads, N, C]: a clip
    // again, as the MViTs of torchvision and of SlowFast pool it. (Images [B, C, H, W] made so are
    // views.)
    {.name = "clip of tokens",
     .exporter = Exporter::kPyTorch,
     .match = "y = Reshape(Transpose(_) {perm=[0,1,3,2]})",
     .when = is_clip,
     .build = copy_result,
     .example = "input x: f32[B,2,8,4]; const s: i64[5] = [-1,8,2,2,2];"
                "t = Transpose(x) {perm=[0,1,3,2]}; y = Reshape(t, s); v = Neg(y)",
     .after = "t = Transpose(x) {perm=[0,1,3,2]}; y = Reshape(t, s);"
              "\"\" = plimsoll:Contiguous(y); v = Neg(\"\")",
     .near_miss = "const s: i64[4] = [-1,8,4,2]"},
    // torch.nn.functional.unfold: the image padded, its rows gathered, their columns, and both put
    // behind the windows [N, C, height, width of a window, rows, columns of windows].
    {.name = "unfolded windows",
     .match = "image = Pad?(x); g = Gather(Gather(image, rows) {axis=2}, columns) {axis=4};"
              "y = Transpose(g) {perm=[0,1,2,4,3,5]}",
     .result = "y = plimsoll:Im2Col(x)",
     .when = are_windows,
     .set = set_windows,
     .example = "input x: f32[B,3,4,4]; const i: i64[2,2] = [0,1,2,3]; h = Gather(x, i) {axis=2};"
                "w = Gather(h, i) {axis=4}; y = Transpose(w) {perm=[0,1,2,4,3,5]}",
     .after = "y = plimsoll:Im2Col(x) {windows=[2,2,2,2]}",
     .near_miss = "y = Transpose(w) {perm=[0,1,2,4,5,3]}"},
    // As the newer exporter writes what PyTorch decomposes: both axes in front, a table of places,
    // and back.
    {.name = "upsampling to the nearest",
     .match = "g = GatherND(Transpose(x) {perm=[2,3,0,1]}); y = Transpose(g) {perm=[2,3,0,1]}",
     .result = "y = Resize(x)",
     .when = is_upsampling,
     .example = "input x: f32[B,3,2,2]; input i: i64[4,4,2]; t = Transpose(x) {perm=[2,3,0,1]};"
                "g = GatherND(t, i); _unsafe_index_1 = Transpose(g) {perm=[2,3,0,1]}",
     .after = "_unsafe_index_1 = Resize(x)",
     .near_miss = "_unsafe_index_1 = Neg(g); picked = Transpose(g) {perm=[2,3,0,1]}"},
    // The pooled spread out again: zeros, with each value put at its place within its channel.
    {.name = "unpooling",
     .match = "i = Unsqueeze(Reshape(Add(places, begins)));"
              "s = ScatterND(zeros, i, Reshape(x)); y = Reshape(s)",
     .when = is_unpooling,
     .build = make_unpool,
     .example = "input x: f32[4,3,2,2]; input p: i64[4,3,2,2]; const b: i64[1] = [0];"
                "const z: f32[1] = [0]; const n: i64[1] = [192]; const f: i64[1] = [-1];"
                "const s: i64[4] = [4,3,4,4]; o = Expand(z, n); q = Add(p, b); r = Reshape(q, f);"
                "i = Unsqueeze(r, f); u = Reshape(x, f); v = ScatterND(o, i, u);"
                "y = Reshape(v, s)",
     .after = "y = MaxUnpool(x, p)",
     .near_miss = "v = ScatterND(o, i, u) {reduction=\"add\"}"},
    {.name = "view with strides",
     .match = "row = Reshape(x); y = Gather(row, at)",
     .when = is_view_with_strides,
     .build = make_reshape,
     .example = "input x: f32[2,4]; const f: i64[1] = [-1]; const i: i64[4,2] = [0,4,1,5,2,6,3,7];"
                "r = Reshape(x, f); y = Gather(r, i)",
     .after = "y = Reshape(x, /shape)",
     .near_miss = "const i: i64[2,2] = [0,4,1,5]"},
    // Windows gathered, and the mean over them.
    {.name = "adaptive average pool",
     .match = "back = Transpose(GatherND(Transpose(x), at)); y = ReduceMean(back)",
     .result = "y = plimsoll:AdaptiveAveragePool(x)",
     .when = is_adaptive_pool,
     .set = set_sizes,
     .example = "input x: f32[B,8,5,5]; const i: i64[1,1,1,1,2] = [0,0];"
                "t = Transpose(x) {perm=[2,3,0,1]}; g = GatherND(t, i);"
                "b = Transpose(g) {perm=[4,5,0,2,1,3]};"
                "y = ReduceMean(b) {axes=[4,5], keepdims=0}",
     .after = "y = plimsoll:AdaptiveAveragePool(x) {sizes=[1,1]}",
     .near_miss = "y = ReduceMax(b) {axes=[4,5], keepdims=0}"},
    {.name = "rows added where numbers say",
     .exporter = Exporter::kPyTorch,
     .match = "rows = Expand(u); s = ScatterElements(zeros, Expand(i), rows); y = Add(x, s!)",
     .result = "y = ScatterND(x, i, u) {reduction=\"add\"}",
     .when = is_index_add,
     .example = "input x: f32[B,8]; input u: f32[2,8]; input i: i64[2,1]; const t: i64[2] = [2,8];"
                "n = Shape(x); z = ConstantOfShape(n); e = Expand(i, t); r = Expand(u, t);"
                "s = ScatterElements(z, e, r) {axis=0}; y = Add(x, s)",
     .near_miss = "s = ScatterElements(z, e, r) {axis=1}"},
};

}  // namespace

std::span<const Pattern> gathers() { return kGatherRows; }

}  // namespace plimsoll::patterns
