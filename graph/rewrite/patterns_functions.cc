// Functions and losses that exporters write in pieces.
#include "graph/exporter/origin.h"
#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

bool is_one_number(const Match& m) {
  const auto& shape = m.r.tensor(m["y"]).shape;
  return shape && elements(*shape) == Dim(1);
}
void set_rank(const Match& m, Attributes& attributes) {
  attributes.set("rank", static_cast<int64_t>(m.r.rank(m["y"])));
}
// An exporter's own pieces have numbers for names ("val_14"); what people squeeze has not.
bool is_made_by_exporter(const Match& m) { return m.r.tensor(m["y"]).name.starts_with("val_"); }

// What the newer exporter decomposes it calls by the function's name, and what people write by that
// of the last operator; in a file of TorchScript's both look the same.
bool is_called(const Match& m, std::string_view function) {
  return is_called_after(m.r.tensor(m["y"]).name, function);
}
bool is_log_sigmoid(const Match& m) { return is_called(m, "log_sigmoid"); }
bool is_elu(const Match& m) { return is_called(m, "elu"); }
bool is_softplus(const Match& m) { return is_called(m, "softplus"); }
bool is_bernoulli(const Match& m) { return is_called(m, "bernoulli"); }
// A threshold is called where(), as people call it who keep the comparison in place of a.
bool is_threshold(const Match& m) { return is_called(m, "where"); }

bool is_mse(const Match& m) { return is_called(m, "mse_loss"); }
bool is_mse_of_all(const Match& m) { return is_mse(m) && is_one_number(m); }

// One call, of which the newer exporter writes the parts: all have its line. Who writes such a loss
// out gives the distance a line of its own, for it is read three times.
bool is_one_statement(const Match& m) {
  const std::string& line = m.root().notes.statements;
  return !line.empty() && m.r.node(m.r.producer(m["d"])).notes.statements == line;
}
bool is_one_loss(const Match& m) { return is_one_statement(m) && is_one_number(m); }
void set_each(const Match&, Attributes& attributes) { attributes.set("reduction", "none"); }

constexpr Pattern kFunctionRows[] = {
    {.name = "atan2",
     .match = "t = Atan(Div(a, b));"
              "y = Where(Less(b, 0), Where(Greater(a, 0), Add(t, #), Sub(t, #)), t)",
     .result = "y = plimsoll:Atan2(a, b)",
     .example =
         "input a: f32[B,8]; input b: f32[B,8]; const z: f32[] = [0]; const p: f32[] = [3.1];"
         "q = Div(a, b); t = Atan(q); l = Less(b, z); g = Greater(a, z); u = Add(t, p);"
         "v = Sub(t, p); w = Where(g, u, v); y = Where(l, w, t)",
     .near_miss = "l = Less(a, z)"},
    {.name = "logaddexp",
     .match = "y = Log(Add(Exp(a), Exp(b)))",
     .result = "y = plimsoll:Logaddexp(a, b)",
     .example = "input a: f32[B,8]; input b: f32[B,8]; e = Exp(a); f = Exp(b); s = Add(e, f);"
                "y = Log(s)",
     .near_miss = "s = Mul(e, f)"},
    {.name = "hard shrink",
     .match = "y = Where(Or(Cast?(Greater(a, #)), Cast?(Less(a, #))), a, 0)",
     .result = "y = plimsoll:Hardshrink(a)",
     .example = "input a: f32[B,8]; const k: f32[] = [0.5]; const m: f32[] = [-0.5];"
                "const z: f32[] = [0]; g = Greater(a, k); l = Less(a, m); o = Or(l, g);"
                "y = Where(o, a, z)",
     .near_miss = "input b: f32[B,8]; y = Where(o, b, z)"},
    {.name = "soft shrink",
     .match = "y = Add(Where(Greater(a, #), Sub(a, #), 0), Where(Less(a, #), Add(a, #), 0))",
     .result = "y = plimsoll:Softshrink(a)",
     .example = "input a: f32[B,8]; const k: f32[] = [0.5]; const m: f32[] = [-0.5];"
                "const z: f32[] = [0]; g = Greater(a, k); s = Sub(a, k); u = Where(g, s, z);"
                "l = Less(a, m); t = Add(a, k); v = Where(l, t, z); y = Add(u, v)",
     .near_miss = "v = Where(l, t, a)"},
    {.name = "hard shrink",  // of the newer exporter
     .match = "y = Where(LessOrEqual(Abs(a), #), 0, a)",
     .result = "y = plimsoll:Hardshrink(a)",
     .example = "input a: f32[B,8]; const k: f32[] = [0.5]; const z: f32[] = [0]; s = Abs(a);"
                "l = LessOrEqual(s, k); y = Where(l, z, a)",
     .near_miss = "y = Where(l, a, z)"},
    {.name = "soft shrink",
     .match = "y = Where(Greater(Abs(a), #), Sub(a, Mul(Sign(a), #)), Mul(a, 0))",
     .result = "y = plimsoll:Softshrink(a)",
     .example = "input a: f32[B,8]; const k: f32[] = [0.5]; const z: f32[] = [0]; s = Abs(a);"
                "g = Greater(s, k); h = Sign(a); t = Mul(h, k); u = Sub(a, t); v = Mul(a, z);"
                "y = Where(g, u, v)",
     .near_miss = "y = Where(g, v, u)"},
    {.name = "threshold",
     .exporter = Exporter::kPyTorch,
     .match = "y = Where(LessOrEqual(a, #)!, #, a)",
     .result = "y = plimsoll:Threshold(a)",
     .when = is_threshold,
     .example = "input a: f32[B,8]; const k: f32[] = [0.5]; const z: f32[] = [0];"
                "l = LessOrEqual(a, k); where_1 = Where(l, z, a)",
     .after = "where_1 = plimsoll:Threshold(a)",
     .near_miss = "where_1 = Where(l, a, z)"},
    {.name = "draw of zeros and ones",  // as bernoulli_(p) of timm's and torchvision's paths is one
     .exporter = Exporter::kPyTorch,
     .match = "y = Cast(Less(RandomUniformLike(Cast?(x)), _)!)",
     .result = "y = plimsoll:Bernoulli(x)",
     .when = is_bernoulli,
     .example = "input x: f32[B,1]; const p: f32[] = [0.9]; f = Cast(x) {to=1};"
                "u = RandomUniformLike(f); q = CastLike(p, u); l = Less(u, q);"
                "bernoulli_1 = CastLike(l, x)",
     .after = "bernoulli_1 = plimsoll:Bernoulli(x)",
     .near_miss = "lt_1 = CastLike(l, x); bernoulli_1 = Neg(lt_1)"},
    {.name = "log of a sigmoid",
     .exporter = Exporter::kPyTorch,
     .match = "y = Log(Sigmoid(a)!)",
     .result = "y = plimsoll:LogSigmoid(a)",
     .when = is_log_sigmoid,
     .example = "input a: f32[B,8]; s = Sigmoid(a); log_sigmoid_1 = Log(s)",
     .after = "log_sigmoid_1 = plimsoll:LogSigmoid(a)",
     .near_miss = "log_1 = Log(s); log_sigmoid_1 = Neg(s)"},
    {.name = "ELU",
     .exporter = Exporter::kPyTorch,
     .match = "y = Mul(Elu(Mul(a, #)!)!, #)",
     .result = "y = Elu(a)",
     .when = is_elu,
     .example = "input a: f32[B,8]; const n: f32[] = [1]; s = Mul(a, n); e = Elu(s);"
                "elu_1 = Mul(e, n)",
     .after = "elu_1 = Elu(a)",
     .near_miss = "elu_1 = Neg(e); mul_1 = Mul(e, n)"},
    {.name = "softplus",
     .exporter = Exporter::kPyTorch,
     .match = "s = Mul(a, #); y = Where(Greater(s, #)!, a, Div(Softplus(s)!, #)!)",
     .result = "y = Softplus(a)",
     .when = is_softplus,
     .example = "input a: f32[B,8]; const n: f32[] = [1]; const k: f32[] = [20]; s = Mul(a, n);"
                "p = Softplus(s); q = Div(p, n); g = Greater(s, k); softplus = Where(g, a, q)",
     .after = "softplus = Softplus(a)",
     .near_miss = "softplus = Where(g, q, a)"},
    {.name = "variance",
     .match = "y = ReduceMean(Mul(Sub(a, ReduceMean(a)), Sub(a, ReduceMean(a))), axes?) {?}",
     .result = "y = plimsoll:Var(a, axes?) {?}",
     .example = "input a: f32[B,8]; m = ReduceMean(a) {axes=[1]}; d = Sub(a, m); s = Mul(d, d);"
                "y = ReduceMean(s) {axes=[1], keepdims=0}",
     .after = "y = plimsoll:Var(a) {axes=[1], keepdims=0}",
     .near_miss = "s = Mul(d, m)"},
    {.name = "variance",  // with Bessel's correction
     .match = "y = Div(Mul(Var(a, axes?) {?}, #), #)",
     .result = "y = plimsoll:Var(a, axes?) {?}",
     .example = "input a: f32[B,8]; const n: f32[] = [8]; const k: f32[] = [7];"
                "v = plimsoll:Var(a) {axes=[1], keepdims=0}; u = Mul(v, n); y = Div(u, k)",
     .after = "y = plimsoll:Var(a) {axes=[1], keepdims=0}",
     .near_miss = "u = Mul(v, v)"},
    {.name = "standard deviation",
     .match = "y = Sqrt(Var(a, axes?) {?})",
     .result = "y = plimsoll:Std(a, axes?) {?}",
     .example = "input a: f32[B,8]; const k: f32[] = [0.1];"
                "v = plimsoll:Var(a) {axes=[1], keepdims=0}; y = Sqrt(v)",
     .after = "y = plimsoll:Std(a) {axes=[1], keepdims=0}",
     .near_miss = "s = Add(v, k); y = Sqrt(s)"},
    {.name = "cosine similarity",
     .match = "p = Mul(ReduceSum(Mul(a, a)), ReduceSum(Mul(b, b)));"
              "y = Div(ReduceSum(Mul(a, b), axes?) {?}, Max(Sqrt(p), #))",
     .result = "y = plimsoll:CosineSimilarity(a, b, axes?) {?}",
     .example = "input a: f32[B,8]; input b: f32[B,8]; const e: f32[] = [1e-8]; ab = Mul(a, b);"
                "s = ReduceSum(ab) {axes=[1], keepdims=0}; aa = Mul(a, a); bb = Mul(b, b);"
                "t = ReduceSum(aa) {axes=[1], keepdims=0};"
                "u = ReduceSum(bb) {axes=[1], keepdims=0}; p = Mul(t, u); q = Sqrt(p);"
                "m = Max(q, e); y = Div(s, m)",
     .after = "y = plimsoll:CosineSimilarity(a, b) {axes=[1], keepdims=0}",
     .near_miss = "p = Mul(t, t)"},
    // The exporter shifts the root's power a little: people do not.
    {.name = "distances",
     .match = "s = ReduceSum(Pow(Sub(Unsqueeze(a, _), Unsqueeze(b, _)), #));"
              "y = Pow(s, Div(1, Add(#, #)))",
     .result = "y = plimsoll:Cdist(a, b)",
     .example = "input a: f32[B,6,4]; input b: f32[B,9,4]; const i: i64[1] = [1];"
                "const j: i64[1] = [2]; const p: f32[] = [2]; const n: f32[1] = [1];"
                "const e: f32[1] = [1e-6]; const k: i64[1] = [-1]; u = Unsqueeze(a, j);"
                "v = Unsqueeze(b, i); d = Sub(u, v); w = Pow(d, p);"
                "s = ReduceSum(w, k) {keepdims=0}; q = Add(p, e); r = Div(n, q); y = Pow(s, r)",
     .near_miss = "r = Reciprocal(p)"},
    {.name = "distances",
     .match = "l = Concat(Mul(a, -2), ReduceSum(Pow(a, 2)), _);"
              "r = Transpose(Concat(b, _, ReduceSum(Pow(b, 2))));"
              "y = Sqrt(Max|Clip(MatMul(l, r), 0))",
     .result = "y = plimsoll:EuclideanDist(a, b)",
     .example = "input a: f32[B,64,4]; input b: f32[B,96,4]; input m: f32[B,64,1];"
                "input n: f32[B,96,1]; const p: f32[] = [2]; const q: f32[] = [-2];"
                "const z: f32[] = [0]; const k: i64[1] = [-1]; c = Pow(a, p);"
                "d = ReduceSum(c, k) {keepdims=1}; e = Pow(b, p);"
                "f = ReduceSum(e, k) {keepdims=1}; g = Mul(q, a); l = Concat(g, d, m) {axis=-1};"
                "h = Concat(b, n, f) {axis=-1}; r = Transpose(h) {perm=[0,2,1]}; s = MatMul(l, r);"
                "x = Max(s, z); y = Sqrt(x)",
     .near_miss = "g = Mul(a, z)"},
    {.name = "bilinear layer",
     .match = "y = Squeeze(MatMul(Reshape(MatMul(a, c), _), Unsqueeze(b, _)), _)",
     .result = "y = plimsoll:Bilinear(a, b, c)",
     .when = is_made_by_exporter,
     .example = "input a: f32[B,8]; input b: f32[B,4]; input c: f32[8,12];"
                "const s: i64[3] = [-1,3,4]; const k: i64[1] = [-1]; val_3 = MatMul(a, c);"
                "val_4 = Reshape(val_3, s); val_5 = Unsqueeze(b, k); val_6 = MatMul(val_4, val_5);"
                "val_7 = Squeeze(val_6, k)",
     .after = "val_7 = plimsoll:Bilinear(a, b, c)",
     .near_miss = "val_7 = Neg(val_6); squeeze = Squeeze(val_6, k)"},
    {.name = "mean squared error",
     .match = "c = Expand(a, _); d = Expand(b, _); y = ReduceMean(Mul(Sub(c, d), Sub(c, d)))",
     .result = "y = plimsoll:MseLoss(a, b)",
     .when = is_one_number,
     .set = set_rank,
     .example = "input a: f32[4,8]; input b: f32[4,8]; const s: i64[2] = [4,8]; u = Expand(a, s);"
                "v = Expand(b, s); d = Sub(u, v); e = Mul(d, d); y = ReduceMean(e) {keepdims=0}",
     .after = "y = plimsoll:MseLoss(a, b) {rank=0}",
     .near_miss = "y = ReduceMean(e) {axes=[1], keepdims=0}"},
    {.name = "mean squared error",  // of the newer exporter
     .exporter = Exporter::kPyTorch,
     .match = "y = ReduceMean|ReduceSum(Mul(Sub(a, b), Sub(a, b)))",
     .result = "y = plimsoll:MseLoss(a, b)",
     .when = is_mse_of_all,
     .set = set_rank,
     .example = "input a: f32[B,8]; input b: f32[B,8]; d = Sub(a, b); e = Sub(a, b);"
                "f = Mul(d, e); mse_loss_1 = ReduceMean(f) {keepdims=0}",
     .after = "mse_loss_1 = plimsoll:MseLoss(a, b) {rank=0}",
     .near_miss = "mean_1 = ReduceMean(f) {keepdims=0}; mse_loss_1 = Neg(mean_1)"},
    {.name = "squared errors",
     .exporter = Exporter::kPyTorch,
     .match = "y = Mul(Sub(a, b), Sub(a, b))",
     .result = "y = plimsoll:MseLoss(a, b)",
     .when = is_mse,
     .set = set_each,
     .example = "input a: f32[B,8]; input b: f32[B,8]; d = Sub(a, b); e = Sub(a, b);"
                "mse_loss = Mul(d, e)",
     .after = "mse_loss = plimsoll:MseLoss(a, b) {reduction=\"none\"}",
     .near_miss = "mul = Mul(d, e); mse_loss = Neg(mul)"},
    {.name = "smooth L1 losses",
     .exporter = Exporter::kPyTorch,
     .match = "d = Abs(Sub(a, b)); y = Where(Less(d, #), Div(Mul(Pow(d, 2), #), #), Sub(d, #))",
     .result = "y = plimsoll:SmoothL1Loss(a, b)",
     .when = is_one_statement,
     .set = set_each,
     .example = "input a: f32[B,8]; input b: f32[B,8]; const n: f32[] = [1]; const p: f32[] = [2];"
                "const h: f32[] = [0.5]; c = Sub(a, b) statements=\"a.py:3\";"
                "d = Abs(c) statements=\"a.py:3\"; l = Less(d, n); e = Pow(d, p); f = Mul(e, h);"
                "g = Div(f, n); i = Sub(d, h); y = Where(l, g, i) statements=\"a.py:3\"",
     .after = "y = plimsoll:SmoothL1Loss(a, b) {reduction=\"none\"} statements=\"a.py:3\"",
     .near_miss = "y = Where(l, g, i) statements=\"a.py:4\""},
    {.name = "Huber losses",
     .exporter = Exporter::kPyTorch,
     .match = "d = Abs(Sub(a, b)); y = Where(Less(d, #), Mul(Mul(d, #), d), Mul(Sub(d, #), #))",
     .result = "y = plimsoll:HuberLoss(a, b)",
     .when = is_one_statement,
     .set = set_each,
     .example = "input a: f32[B,8]; input b: f32[B,8]; const n: f32[] = [1];"
                "const h: f32[] = [0.5]; c = Sub(a, b) statements=\"a.py:3\";"
                "d = Abs(c) statements=\"a.py:3\"; l = Less(d, n); e = Mul(d, h); f = Mul(e, d);"
                "g = Sub(d, h); i = Mul(g, n); y = Where(l, f, i) statements=\"a.py:3\"",
     .after = "y = plimsoll:HuberLoss(a, b) {reduction=\"none\"} statements=\"a.py:3\"",
     .near_miss = "y = Where(l, f, i) statements=\"a.py:4\""},
    {.name = "binary cross entropies with logits",
     .exporter = Exporter::kPyTorch,
     .match = "d = LogSigmoid(a); y = Sub(Mul(Sub(1, b), a), d)",
     .result = "y = plimsoll:BceLogitsLoss(a, b)",
     .when = is_one_statement,
     .set = set_each,
     .example = "input a: f32[B,8]; input b: f32[B,8]; const n: f32[] = [1];"
                "d = plimsoll:LogSigmoid(a) statements=\"a.py:3\"; c = Sub(n, b); e = Mul(c, a);"
                "y = Sub(e, d) statements=\"a.py:3\"",
     .after = "y = plimsoll:BceLogitsLoss(a, b) {reduction=\"none\"} statements=\"a.py:3\"",
     .near_miss = "y = Sub(e, d) statements=\"a.py:4\""},
    {.name = "binary cross entropies",
     .exporter = Exporter::kPyTorch,
     .match = "d = Max(Log(Add(Neg(a), #)), #);"
              "y = Sub(Mul(Sub(b, #), d), Mul(b, Max(Log(a), #)))",
     .result = "y = plimsoll:BceLoss(a, b)",
     .when = is_one_statement,
     .set = set_each,
     .example = "input a: f32[B,8]; input b: f32[B,8]; const n: f32[] = [1];"
                "const k: f32[] = [-100]; c = Neg(a); e = Add(c, n); f = Log(e);"
                "d = Max(f, k) statements=\"a.py:3\"; g = Sub(b, n); h = Mul(g, d); i = Log(a);"
                "j = Max(i, k); l = Mul(b, j); y = Sub(h, l) statements=\"a.py:3\"",
     .after = "y = plimsoll:BceLoss(a, b) {reduction=\"none\"} statements=\"a.py:3\"",
     .near_miss = "y = Sub(h, l) statements=\"a.py:4\""},
    {.name = "mean of losses",
     .exporter = Exporter::kPyTorch,
     .match = "d = SmoothL1Loss(a, b); y = ReduceMean|ReduceSum(d!)",
     .result = "y = plimsoll:SmoothL1Loss(a, b)",
     .when = is_one_loss,
     .set = set_rank,
     .example = "input a: f32[B,8]; input b: f32[B,8];"
                "d = plimsoll:SmoothL1Loss(a, b) {reduction=\"none\"} statements=\"a.py:3\";"
                "y = ReduceMean(d) {keepdims=0} statements=\"a.py:3\"",
     .after = "y = plimsoll:SmoothL1Loss(a, b) {rank=0} statements=\"a.py:3\"",
     .near_miss = "y = ReduceMean(d) {keepdims=0} statements=\"a.py:4\""},
    {.name = "mean of losses",
     .exporter = Exporter::kPyTorch,
     .match = "d = HuberLoss(a, b); y = ReduceMean|ReduceSum(d!)",
     .result = "y = plimsoll:HuberLoss(a, b)",
     .when = is_one_loss,
     .set = set_rank,
     .example = "input a: f32[B,8]; input b: f32[B,8];"
                "d = plimsoll:HuberLoss(a, b) {reduction=\"none\"} statements=\"a.py:3\";"
                "y = ReduceMean(d) {keepdims=0} statements=\"a.py:3\"",
     .after = "y = plimsoll:HuberLoss(a, b) {rank=0} statements=\"a.py:3\"",
     .near_miss = "y = ReduceMean(d) {keepdims=0} statements=\"a.py:4\""},
    {.name = "mean of losses",
     .exporter = Exporter::kPyTorch,
     .match = "d = BceLogitsLoss(a, b); y = ReduceMean|ReduceSum(d!)",
     .result = "y = plimsoll:BceLogitsLoss(a, b)",
     .when = is_one_loss,
     .set = set_rank,
     .example = "input a: f32[B,8]; input b: f32[B,8];"
                "d = plimsoll:BceLogitsLoss(a, b) {reduction=\"none\"} statements=\"a.py:3\";"
                "y = ReduceMean(d) {keepdims=0} statements=\"a.py:3\"",
     .after = "y = plimsoll:BceLogitsLoss(a, b) {rank=0} statements=\"a.py:3\"",
     .near_miss = "y = ReduceMean(d) {keepdims=0} statements=\"a.py:4\""},
    {.name = "mean of losses",
     .exporter = Exporter::kPyTorch,
     .match = "d = BceLoss(a, b); y = ReduceMean|ReduceSum(d!)",
     .result = "y = plimsoll:BceLoss(a, b)",
     .when = is_one_loss,
     .set = set_rank,
     .example = "input a: f32[B,8]; input b: f32[B,8];"
                "d = plimsoll:BceLoss(a, b) {reduction=\"none\"} statements=\"a.py:3\";"
                "y = ReduceMean(d) {keepdims=0} statements=\"a.py:3\"",
     .after = "y = plimsoll:BceLoss(a, b) {rank=0} statements=\"a.py:3\"",
     .near_miss = "y = ReduceMean(d) {keepdims=0} statements=\"a.py:4\""},
    {.name = "xlogy",
     .match = "y = Where(Equal(a, 0), a, Where(IsNaN(b), b, Mul(a, Log(b))))",
     .result = "y = plimsoll:Xlogy(a, b)",
     .example = "input a: f32[B,8]; input b: f32[B,8]; const z: f32[] = [0]; n = IsNaN(b);"
                "q = Equal(a, z); l = Log(b); m = Mul(a, l); w = Where(n, b, m);"
                "y = Where(q, a, w)",
     .near_miss = "y = Where(q, b, w)"},
    {.name = "smooth L1 loss",
     .match = "d = Abs(Sub(a, b));"
              "y = ReduceMean(Where(Less(d, #), Mul(Pow(d, 2), #), Sub(d, #)))",
     .result = "y = plimsoll:SmoothL1Loss(a, b)",
     .when = is_one_number,
     .set = set_rank,
     .example =
         "input a: f32[B,8]; input b: f32[B,8]; const n: f32[] = [1]; const h: f32[] = [0.5];"
         "const p: f32[] = [2]; c = Sub(a, b); d = Abs(c); l = Less(d, n); e = Pow(d, p);"
         "f = Mul(e, h); g = Sub(d, h); w = Where(l, f, g); y = ReduceMean(w) {keepdims=0}",
     .after = "y = plimsoll:SmoothL1Loss(a, b) {rank=0}",
     .near_miss = "w = Where(l, f, a)"},
    {.name = "Huber loss",
     .match = "d = Abs(Sub(a, b));"
              "y = ReduceMean(Where(Less(d, #), Mul(Mul(d, #), d), Sub(d, #)))",
     .result = "y = plimsoll:HuberLoss(a, b)",
     .when = is_one_number,
     .set = set_rank,
     .example =
         "input a: f32[B,8]; input b: f32[B,8]; const n: f32[] = [1]; const h: f32[] = [0.5];"
         "c = Sub(a, b); d = Abs(c); l = Less(d, n); e = Mul(d, h); f = Mul(e, d);"
         "g = Sub(d, h); w = Where(l, f, g); y = ReduceMean(w) {keepdims=0}",
     .after = "y = plimsoll:HuberLoss(a, b) {rank=0}",
     .near_miss = "w = Where(l, f, a)"},
    {.name = "binary cross entropy with logits",
     .match = "s = Sigmoid(a);"
              "y = ReduceMean(Neg(Add(Mul(b, Log(s)), Mul(Sub(1, b), Log(Sub(1, s))))))",
     .result = "y = plimsoll:BceLogitsLoss(a, b)",
     .when = is_one_number,
     .set = set_rank,
     .example = "input a: f32[B,8]; input b: f32[B,8]; const n: f32[] = [1]; s = Sigmoid(a);"
                "p = Log(s); q = Sub(n, s); r = Log(q); c = Mul(b, p); d = Sub(n, b);"
                "e = Mul(d, r); f = Add(c, e); g = Neg(f); y = ReduceMean(g) {keepdims=0}",
     .after = "y = plimsoll:BceLogitsLoss(a, b) {rank=0}",
     .near_miss = "d = Sub(n, a)"},
    {.name = "binary cross entropy",
     .match = "l = Max(Log(Add(Neg(a), 1)), -100);"
              "y = ReduceMean(Sub(Mul(Sub(b, 1), l), Mul(b, Max(Log(a), -100))))",
     .result = "y = plimsoll:BceLoss(a, b)",
     .when = is_one_number,
     .set = set_rank,
     .example = "input a: f32[B,8]; input b: f32[B,8]; const n: f32[] = [1];"
                "const k: f32[] = [-100]; c = Neg(a); d = Add(c, n); e = Log(d); l = Max(e, k);"
                "f = Sub(b, n); g = Mul(f, l); h = Log(a); i = Max(h, k); j = Mul(b, i);"
                "o = Sub(g, j); y = ReduceMean(o) {keepdims=0}",
     .after = "y = plimsoll:BceLoss(a, b) {rank=0}",
     .near_miss = "j = Mul(a, i)"},
    {.name = "Kullback-Leibler divergence",
     .match = "y = ReduceSum(Where(Greater(b, 0), Mul(b, Sub(Log(b), a)), _))",
     .result = "y = plimsoll:KlDivLoss(a, b)",
     .when = is_one_number,
     .set = set_rank,
     .example = "input a: f32[B,8]; input b: f32[B,8]; const z: f32[] = [0]; g = Greater(b, z);"
                "l = Log(b); d = Sub(l, a); m = Mul(b, d); w = Where(g, m, z);"
                "y = ReduceSum(w) {keepdims=0}",
     .after = "y = plimsoll:KlDivLoss(a, b) {rank=0}",
     .near_miss = "m = Mul(a, d)"},
    // The exporter writes the factor though it is one.
    {.name = "addcmul",
     .match = "y = Add(x, Mul(Mul(a, b)!, 1)!)",
     .result = "y = plimsoll:Addcmul(x, a, b)",
     .example = "input x: f32[B,8]; param a: f32[8]; input b: f32[B,8]; const n: f32[] = [1];"
                "m = Mul(a, b); s = Mul(m, n); y = Add(x, s)",
     .near_miss = "const n: f32[] = [2]"},
};

}  // namespace

std::span<const Pattern> functions() { return kFunctionRows; }

}  // namespace plimsoll::patterns
