// Norms that exporters write in pieces.
#include <algorithm>

#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

void set_layer_norm(const Match& m, Attributes& attributes) {
  attributes.set("axis", -static_cast<int64_t>(m.r.rank(m["scale"])));
  attributes.set("epsilon", m.r.number(m["e"]).value_or(1e-5));
}

bool is_fused(const Match& m) { return m.root().notes.fused_norm; }
void set_rms_norm(const Match& m, Attributes& attributes) {
  attributes.set("axis", -static_cast<int64_t>(m.r.rank(m["scale"])));
}

// A length for each slice of the first or the last dimension.
bool is_weight_norm(const Match& m) {
  const Rewrite& r = m.r;
  const size_t rank = r.rank(m["v"]);
  return r.tensor(m["v"]).kind == TensorKind::kParameter && rank >= 2 && r.rank(m["g"]) == rank &&
         (r.extent(m["g"], 0) != 1 || r.extent(m["g"], rank - 1) != 1);
}

// A norm's weight; kNoTensor where the exporter put a number in place of one that it has not.
TensorId own_weight(const Rewrite& r, TensorId weight) {
  const bool stands_in = r.number(weight) && r.tensor(weight).contents;
  return stands_in && (r.tensor(weight).origin == Origin::kGenerated || r.rank(weight) != 1)
             ? kNoTensor
             : weight;
}

bool has_groups(const Match& m) { return m.r.extent(m["g"], 1).has_value(); }
NodeId make_group_norm(Finder& f, const Match& m) {
  const int64_t groups = *f.r.extent(m["g"], 1);
  const TensorId scale = own_weight(f.r, m["scale"]), bias = own_weight(f.r, m["bias"]);
  f.r.replace(m.at, "", "GroupNormalization", {m["x"], scale, bias})
      .attributes.set("num_groups", groups);
  return m.at;
}

// An exporter that folds writes the sum as one vector, and names it after the addition.
bool is_folded_sum(const Match& m) {
  const Tensor& gain = m.r.tensor(m["gain"]);
  return (gain.name == "add" || gain.name.starts_with("add_")) && m.r.rank(m["gain"]) == 1 &&
         is_float(gain.dtype);
}
NodeId add_one_to_weight(Finder& f, const Match& m) {
  Rewrite& r = f.r;
  const DType dtype = r.tensor(m["gain"]).dtype;
  const Shape shape = *r.tensor(m["gain"]).shape;
  const TensorId weight = r.add_parameter(r.node(m.at).name + ".weight", dtype, shape);
  const TensorId sum =
      r.insert_before(m.at, r.beside(m.at, "", "Add", {weight, r.add_number(1)}), dtype, shape);
  r.read_instead(m.at, m["gain"], sum);
  return r.producer(sum);
}

constinit const Fragment kSquare("s = Pow(d, 2)");
constinit const Fragment kQuotient("q = Div(_, Sqrt|Pow(_))");

bool is_squared_too(const Match& m) {
  const auto& readers = m.r.readers(m["d"]);
  return readers.size() == 2 && std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
           return kSquare.at(m.r, reader).has_value();
         });
}
bool is_squared_and_divided(const Match& m) {
  return is_squared_too(m) && kQuotient.at(m.r, m.r.only_reader(m["y"]));
}
NodeId make_twice(Finder& f, const Match& m) {
  Rewrite& r = f.r;
  Node again = m.node("d");
  again.outputs.clear();
  const Tensor like = r.tensor(m["d"]);
  const TensorId second = r.insert_before(m.at, std::move(again), like.dtype, *like.shape);
  r.read_instead(m.at, m["d"], second);
  return r.producer(second);
}

constexpr Pattern kLayerNormRows[] = {
    // As exporters wrote it before opset 17 had it. From then on it is somebody's own.
    {.name = "layer norm",
     .last_opset = 16,
     .match = "d = Sub(x, ReduceMean(x)); v = ReduceMean(Pow|Mul(d, _));"
              "n = Mul(Div(d, Sqrt(Add(v, e))), Unsqueeze?($scale)); y = Add(n, Unsqueeze?($bias))",
     .result = "y = LayerNormalization(x, scale, bias)",
     .set = set_layer_norm,
     .example = "opset 14; input x: f32[B,8]; param w: f32[8]; param b: f32[8];"
                "const p: f32[] = [2]; const e: f32[] = [1e-6]; m = ReduceMean(x) {axes=[-1]};"
                "d = Sub(x, m); s = Pow(d, p); v = ReduceMean(s) {axes=[-1]}; u = Add(v, e);"
                "r = Sqrt(u); q = Div(d, r); n = Mul(q, w); y = Add(n, b)",
     .after = "y = LayerNormalization(x, w, b) {axis=-1, epsilon=1e-06}",
     .near_miss = "opset 17; s = Abs(d)"},
};

constexpr Pattern kNormRows[] = {
    // With a group for each channel an exporter that folds leaves the second Reshape out.
    {.name = "group norm",
     .match = "g = Reshape(x); n = Reshape?(InstanceNormalization(g));"
              "y = Add(Mul(n, Cast?(Unsqueeze?($scale))), Cast?(Unsqueeze?($bias)))",
     .when = has_groups,
     .build = make_group_norm,
     .example = "input x: f32[B,8,4,4]; const s: i64[3] = [0,2,-1]; const t: i64[4] = [-1,8,4,4];"
                "param i: f32[2]; param j: f32[2]; param w: f32[8,1,1]; param b: f32[8,1,1];"
                "g = Reshape(x, s); n = InstanceNormalization(g, i, j); h = Reshape(n, t);"
                "m = Mul(h, w); y = Add(m, b)",
     .after = "y = GroupNormalization(x, w, b) {num_groups=2}",
     .near_miss = "input z: f32[B,2,64]; n = InstanceNormalization(z, i, j)"},
    // Where the exporter says that it was the framework's own layer.
    {.name = "RMS norm",
     .match = "y = Mul(Mul(x, Rsqrt(_)), Unsqueeze?($scale))",
     .result = "y = RMSNormalization(x, scale)",
     .when = is_fused,
     .set = set_rms_norm,
     .example = "input x: f32[B,16]; param w: f32[16]; const p: f32[] = [2];"
                "const e: f32[] = [1e-6]; s = Pow(x, p); m = ReduceMean(s) {axes=[-1]};"
                "a = Add(m, e); r = plimsoll:Rsqrt(a); n = Mul(x, r) fused_norm;"
                "y = Mul(n, w) fused_norm",
     .after = "y = RMSNormalization(x, w) {axis=-1}",
     .near_miss = "y = Mul(n, w)"},
    {.name = "weight norm",
     .match = "y = Mul(Div($v, ReduceL2($v)), Unsqueeze?($g))",
     .result = "y = plimsoll:WeightNorm(v, g)",
     .when = is_weight_norm,
     .example = "param v: f32[8,4]; param g: f32[8,1]; l = ReduceL2(v) {axes=[1]}; q = Div(v, l);"
                "y = Mul(q, g)",
     .near_miss = "param g: f32[1,1]"},
    // Gemma's x * rsqrt(mean(x^2) + eps) * (1 + weight).
    {.name = "gain of one and a weight",
     .match = "y = Mul(Mul(_, Rsqrt(_)), $gain)",
     .when = is_folded_sum,
     .build = add_one_to_weight,
     .example = "input x: f32[B,8]; param add_4: f32[8]; r = plimsoll:Rsqrt(x); n = Mul(x, r);"
                "y = Mul(n, add_4) name=\"n\"",
     .after = "r = plimsoll:Rsqrt(x); n = Mul(x, r); n = Add(n.weight, \"\") name=\"n\";"
              "y = Mul(n, n) name=\"n\"",
     .near_miss = "param g.weight: f32[8]; y = Mul(n, g.weight)"},
    // (x - u) / sqrt((x - u).pow(2).mean() + eps): people write the difference twice, and eager
    // code makes it twice, where PyTorch's older exporter merges what is equal.
    {.name = "difference made twice",
     .exporter = Exporter::kPyTorch,
     .match = "d = Sub(_, ReduceMean(_)); y = Div(d, Sqrt|Pow(_)) | Mul(d, Rsqrt(_))",
     .when = is_squared_too,
     .build = make_twice,
     .example = "input x: f32[B,8]; const p: f32[] = [2]; m = ReduceMean(x) {axes=[-1]};"
                "d = Sub(x, m); s = Pow(d, p); v = ReduceMean(s) {axes=[-1]}; r = Sqrt(v);"
                "y = Div(d, r)",
     .after = "m = ReduceMean(x) {axes=[-1]}; d = Sub(x, m); s = Pow(d, p);"
              "v = ReduceMean(s) {axes=[-1]}; r = Sqrt(v); \"\" = Sub(x, m); y = Div(\"\", r)",
     .near_miss = "s = Abs(d)"},
    {.name = "difference made twice",  // and a gain before the division
     .exporter = Exporter::kPyTorch,
     .match = "d = Sub(_, ReduceMean(_)); y = Mul(d, Unsqueeze?($gain))",
     .when = is_squared_and_divided,
     .build = make_twice,
     .example = "input x: f32[B,8]; param w: f32[8]; const p: f32[] = [2];"
                "m = ReduceMean(x) {axes=[-1]}; d = Sub(x, m); s = Pow(d, p);"
                "v = ReduceMean(s) {axes=[-1]}; r = Sqrt(v); g = Mul(w, d); y = Div(g, r)",
     .after = "m = ReduceMean(x) {axes=[-1]}; d = Sub(x, m); s = Pow(d, p);"
              "v = ReduceMean(s) {axes=[-1]}; r = Sqrt(v); \"\" = Sub(x, m); g = Mul(w, \"\");"
              "y = Div(g, r)",
     .near_miss = "y = Mul(g, r)"},
    {.name = "reciprocal square root",  // one kernel of eager code
     .match = "y = Reciprocal(Sqrt(x)!) | Div(1, Sqrt(x)!)",
     .result = "y = plimsoll:Rsqrt(x)",
     .example = "input x: f32[B,8]; const n: f32[] = [1]; s = Sqrt(x); y = Div(n, s)",
     .near_miss = "z = Neg(s)"},
};

}  // namespace

std::span<const Pattern> layer_norms() { return kLayerNormRows; }
std::span<const Pattern> norms() { return kNormRows; }

}  // namespace plimsoll::patterns
