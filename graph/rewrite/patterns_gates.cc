// Gates that weigh two branches: (1 - g) * a + g * b with g = sigmoid(w), or a trained g. Exporters
// that fold write what w gave when the file was made; eager code computes both halves at every
// step, each from a sigmoid of its own, and trains w.
#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {

bool is_folded_result(const Tensor& t, std::string_view of) {
  return t.kind == TensorKind::kParameter && is_float(t.dtype) && t.shape && !t.shape->empty() &&
         t.folded_by == of;
}

namespace {

bool is_mix(const Match& m) {
  const Tensor& weight = m.r.tensor(m["w"]);
  return is_folded_result(m.r.tensor(m["rest"]), "sub") && weight.origin != Origin::kGenerated &&
         !is_folded_result(weight, "sub") && !is_folded_result(weight, "sigmoid") &&
         weight.kind == TensorKind::kParameter && weight.shape &&
         weight.shape == m.r.tensor(m["rest"]).shape;
}

bool is_gate(const Match& m) {
  return is_folded_result(m.r.tensor(m["gate"]), "sigmoid") &&
         is_folded_result(m.r.tensor(m["rest"]), "sub") &&
         m.r.tensor(m["gate"]).shape == m.r.tensor(m["rest"]).shape;
}

// `op` of these, just before what makes `product`.
TensorId before(Rewrite& r, TensorId product, std::string_view op, std::vector<TensorId> inputs,
                TensorId like) {
  const NodeId at = r.producer(product);
  const DType dtype = r.tensor(product).dtype;
  Shape shape = *r.tensor(like).shape;
  return r.insert_before(at, r.beside(at, "", op, std::move(inputs)), dtype, std::move(shape));
}

NodeId compute_rest(Finder& f, const Match& m) {
  Rewrite& r = f.r;
  const TensorId own = before(r, m["kept"], "Sub", {r.add_number(1), m["w"]}, m["w"]);
  r.read_instead(r.producer(m["kept"]), m["rest"], own);
  return r.producer(own);
}

NodeId compute_gate(Finder& f, const Match& m) {
  Rewrite& r = f.r;
  const NodeId first = r.producer(m["kept"]), second = r.producer(m["passed"]);
  const DType dtype = r.tensor(m["kept"]).dtype;
  Shape shape = *r.tensor(m["gate"]).shape;
  const TensorId weight = r.add_parameter(r.node(first).name + ".gate", dtype, std::move(shape));
  const TensorId own = before(r, m["kept"], "Sigmoid", {weight}, weight);
  const TensorId complement = before(r, m["kept"], "Sub", {r.add_number(1), own}, weight);
  r.read_instead(first, m["rest"], complement);
  r.read_instead(second, m["gate"], before(r, m["passed"], "Sigmoid", {weight}, weight));
  return r.producer(complement);
}

constexpr Pattern kGateRows[] = {
    {.name = "rest of a trained mix",  // RWKV's
     .match = "kept = Mul(_, $rest); y = Add(Mul(_, $w), kept)",
     .when = is_mix,
     .build = compute_rest,
     .example = "input a: f32[B,8]; input b: f32[B,8]; param mix: f32[8]; param sub_1: f32[8];"
                "p = Mul(a, mix); q = Mul(b, sub_1) name=\"k\"; y = Add(p, q)",
     .after = "p = Mul(a, mix); k = Sub(\"\", mix) name=\"k\"; q = Mul(b, k) name=\"k\";"
              "y = Add(p, q)",
     .near_miss = "param other: f32[8]; q = Mul(b, other) name=\"k\""},
    {.name = "trained gate",
     .match = "kept = Mul(_, $rest); passed = Mul(_, $gate); y = Add(kept, passed)",
     .when = is_gate,
     .build = compute_gate,
     .example = "input a: f32[B,8]; input b: f32[B,8]; param sigmoid: f32[8]; param sub: f32[8];"
                "p = Mul(a, sub) name=\"k\"; q = Mul(b, sigmoid) name=\"l\"; y = Add(p, q)",
     .after =
         "k = Sigmoid(k.gate) name=\"k\"; k = Sub(\"\", k) name=\"k\"; p = Mul(a, k) name=\"k\";"
         "l = Sigmoid(k.gate) name=\"l\"; q = Mul(b, l) name=\"l\"; y = Add(p, q)",
     .near_miss = "param rest: f32[8]; p = Mul(a, rest) name=\"k\""},
};

}  // namespace

std::span<const Pattern> gates() { return kGateRows; }

}  // namespace plimsoll::patterns
