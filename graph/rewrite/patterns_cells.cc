// LSTMCell and GRUCell, called step by step. Exporters write their gates in pieces; on a GPU eager
// code runs two products and a fused kernel (ATen/native/RNN.cpp, LSTMCell and GRUCell). A cell
// that somebody wrote of layers looks the same, but its layers are modules of their own.
#include <algorithm>

#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

// x W^T, and a bias or none.
struct Product {
  TensorId x = kNoTensor, weight = kNoTensor, bias = kNoTensor;
};

constinit const Fragment kGemm("y = Gemm(x, w, b?)"), kMatMul("y = MatMul(x, Transpose(w))");

std::optional<Product> product_of(const Rewrite& r, TensorId t, const std::string& module) {
  const NodeId id = r.producer(t);
  if (id == kNoNode || r.node(id).module != module) return std::nullopt;
  const Attributes& attributes = r.node(id).attributes;
  const auto gemm = kGemm.at(r, id);
  if (gemm && attributes.integer("transB", 0) == 1 && attributes.integer("transA", 0) == 0)
    return Product{(*gemm)["x"], (*gemm)["w"], (*gemm)["b"]};
  const auto product = kMatMul.at(r, id);
  if (!product || r.rank(t) != 2) return std::nullopt;
  return Product{(*product)["x"], (*product)["w"], kNoTensor};
}

// Are the parts of this split equal?
bool is_even(const Rewrite& r, const Node& split) {
  return std::all_of(split.outputs.begin(), split.outputs.end(), [&](TensorId out) {
    return r.tensor(out).shape == r.tensor(split.outputs[0]).shape;
  });
}

bool replace_by_cell(Finder& f, NodeId at, const Product& input, const Product& hidden,
                     TensorId state) {
  Rewrite& r = f.r;
  if ((input.bias == kNoTensor) != (hidden.bias == kNoTensor)) return false;
  const TensorId before = state == kNoTensor ? hidden.x : state;
  const auto& next = r.tensor(r.node(at).outputs[0]).shape;
  if (!next || next->size() != 2 || r.tensor(before).shape != next) return false;
  for (const TensorId weight : {input.weight, hidden.weight}) {
    if (r.tensor(weight).kind != TensorKind::kParameter || r.rank(weight) != 2) return false;
  }
  r.replace(at, "plimsoll", "RecurrentCell",
            {input.x, hidden.x, state, input.weight, hidden.weight, input.bias, hidden.bias});
  return true;
}

// The sum becomes the cell.
constinit const Fragment kShown("y = Mul(Sigmoid(_), Tanh(_))");

NodeId lstm_cell(Finder& f, const Match& m) {
  Rewrite& r = f.r;
  const NodeId out_gate = r.only_reader(m["o"]);
  const NodeId last = out_gate == kNoNode ? kNoNode : r.only_reader(r.node(out_gate).outputs[0]);
  if (!kShown.at(r, last)) return kNoNode;
  const Node& result = r.node(last);
  const NodeId inner = r.producer(result.inputs[1]);
  const std::string& module = m.root().module;
  const auto hidden = product_of(r, m["hidden"], module);
  const auto input = product_of(r, m["input"], module);
  if (r.node(inner).inputs[0] != m["next"] || !is_even(r, m.node("o")) || !hidden || !input)
    return kNoNode;
  const TensorId shown = result.outputs[0];
  if (!replace_by_cell(f, m.at, *input, *hidden, m["c"])) return kNoNode;
  r.move_output(m["next"], m.at, 1);
  r.move_output(shown, m.at, 0);
  return m.at;
}

NodeId gru_cell(Finder& f, const Match& m) {
  const std::string& module = m.root().module;
  const auto hidden = product_of(f.r, m["hidden"], module);
  const auto input = product_of(f.r, m["input"], module);
  if (!hidden || !input || hidden->x != m["h"] || !is_even(f.r, m.node("un")) ||
      !is_even(f.r, m.node("wn")) || !replace_by_cell(f, m.at, *input, *hidden, kNoTensor))
    return kNoNode;
  return m.at;
}

constexpr Pattern kCellRows[] = {
    // c' = f c + i g, h' = o tanh(c') with i, f, g, o = split(U h + W x)
    {.name = "LSTM cell",
     .exporter = Exporter::kPyTorch,
     .match = "i, f, g, o = Split(Add(hidden, input));"
              "next = Add(Mul(Sigmoid(f), c), Mul(Sigmoid(i), Tanh(g)))",
     .build = lstm_cell,
     .example = "input x: f32[B,4]; input h: f32[B,8]; input c: f32[B,8]; param w: f32[32,4];"
                "param u: f32[32,8]; param p: f32[32]; param q: f32[32];"
                "a = Gemm(h, u, q) {transB=1}; b = Gemm(x, w, p) {transB=1}; s = Add(a, b);"
                "i, f, g, o = Split(s) {axis=1, num_outputs=4}; si = Sigmoid(i); sf = Sigmoid(f);"
                "tg = Tanh(g); fc = Mul(sf, c); ig = Mul(si, tg); n = Add(fc, ig);"
                "so = Sigmoid(o); tn = Tanh(n); y = Mul(so, tn)",
     .after = "y, n = plimsoll:RecurrentCell(x, h, c, w, u, p, q)",
     .near_miss = "a = Gemm(h, u, q) {transB=1} module=\"linear\""},
    // h' = (h - n) z + n, n = tanh(W_n x + r U_n h), r and z sigmoids of the first two parts
    {.name = "GRU cell",
     .exporter = Exporter::kPyTorch,
     .match = "wr, wz, wn = Split(input); ur, uz, un = Split(hidden);"
              "n = Tanh(Add(wn, Mul(un, Sigmoid(Add(ur, wr)))));"
              "y = Add(Mul(Sub(h, n), Sigmoid(Add(uz, wz))), n)",
     .build = gru_cell,
     .example = "input x: f32[B,4]; input h: f32[B,8]; param w: f32[24,4]; param u: f32[24,8];"
                "param p: f32[24]; param q: f32[24]; a = Gemm(h, u, q) {transB=1};"
                "b = Gemm(x, w, p) {transB=1}; ur, uz, un = Split(a) {axis=1, num_outputs=3};"
                "wr, wz, wn = Split(b) {axis=1, num_outputs=3}; sr = Add(ur, wr); r = Sigmoid(sr);"
                "sz = Add(uz, wz); z = Sigmoid(sz); ru = Mul(un, r); t = Add(wn, ru); n = Tanh(t);"
                "d = Sub(h, n); dz = Mul(d, z); y = Add(dz, n)",
     .after = "y = plimsoll:RecurrentCell(x, h, _, w, u, p, q)",
     .near_miss = "b = Gemm(x, w, p) {transB=1} module=\"linear\""},
};

}  // namespace

std::span<const Pattern> cells() { return kCellRows; }

}  // namespace plimsoll::patterns
