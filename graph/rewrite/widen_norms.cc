#include "graph/rewrite/widen_norms.h"

#include <string_view>
#include <utility>
#include <vector>

#include "graph/rewrite/editor.h"
#include "graph/rewrite/inserted_cast.h"
#include "graph/rewrite/pattern.h"

namespace plimsoll {
namespace {

// x * 1 / sqrt(mean(x^2) + eps)
struct Norm {
  TensorId x = kNoTensor;
  NodeId square = kNoNode;
  TensorId narrow = kNoTensor;  // what a cast made x of
};

using patterns::Fragment;

constinit const Fragment kAnyNorm(
    "s = Pow(x, 2); v = Sqrt(Add(ReduceMean(s), _));"
    "y = Mul(x, Reciprocal(v)) | Mul(x, Div(1, v))");
constinit const Fragment kCast("y = Cast(x)");
constinit const Fragment kCentred("mean = ReduceMean(x); y = Sub(x, mean)");
constinit const Fragment kScaling("y = Mul(a, b)");
constinit const Fragment kWideGain("y = Add(Cast($w), 1)");

// kNoTensor of any other node.
Norm norm_at(const Rewrite& r, NodeId id) {
  const auto norm = r.node(id).notes.fused_norm ? std::nullopt : kAnyNorm.at(r, id);
  if (!norm || r.node(id).inputs[0] != (*norm)["x"]) return {};
  return {(*norm)["x"], r.producer((*norm)["s"]), kCast.in(r, (*norm)["x"], "x")};
}

// One plus a weight, folded: exporters name it after the addition.
bool is_gain(const Tensor& t) { return t.name == "add" || t.name.starts_with("add_"); }

bool goes_back(const Rewrite& r, TensorId scaled) {
  return kCast.at(r, r.only_reader(scaled)).has_value();
}

// Does the source line cast something of this kind, "x>float" or "()>given"?
bool writes_cast(const Node& node, std::string_view cast) {
  return node.notes.casts.find(cast) != std::string::npos;
}

// The norm reads its operand in single precision; where the square's line says so and the norm's
// own does not, the square alone does.
void widen_operand(Rewrite& r, NodeId id, const Norm& norm) {
  if (const auto centred = kCentred.of(r, norm.x)) {  // its mean is taken in single precision too
    const TensorId x = (*centred)["x"];
    const NodeId sub = centred->at, mean = r.producer((*centred)["mean"]);
    const TensorId wide = widened(r, mean, x);
    r.read_instead(mean, x, wide);
    r.read_instead(sub, x, wide);
    return;
  }
  const TensorId wide = widened(r, norm.square, norm.x);
  r.read_instead(norm.square, norm.x, wide);
  const bool square_alone =
      writes_cast(r.node(norm.square), ">float") && !writes_cast(r.node(id), ">float");
  if (!square_alone) r.read_instead(id, norm.x, wide);
}

// All that read `scaled` read it in the norm's own type.
void go_back_after(Rewrite& r, TensorId scaled) {
  const std::vector<NodeId> readers = r.readers(scaled);
  if (readers.empty()) return;
  const TensorId back = narrowed(r, r.first_reader(scaled), scaled);
  for (const NodeId reader : readers) r.read_instead(reader, scaled, back);
}

bool widen(Rewrite& r, NodeId id) {
  const Norm norm = norm_at(r, id);
  const bool cast = norm.narrow != kNoTensor;
  if (norm.x == kNoTensor || r.tensor(norm.x).dtype != DType::kFloat32) return false;
  if (!cast && r.node(id).notes.calls.empty()) return false;
  const TensorId normal = r.node(id).outputs[0];
  const NodeId scale = r.only_reader(normal);
  if (!kScaling.at(r, scale)) return false;
  const bool weight_first = r.node(scale).inputs[1] == normal;
  const TensorId weight = r.node(scale).inputs[weight_first ? 0 : 1];
  if (cast && kWideGain.of(r, weight) && !goes_back(r, r.node(scale).outputs[0])) {
    // x.float() of x in single precision is x, and whoever reads x seems to read the cast.
    for (const NodeId reader : std::vector<NodeId>(r.readers(norm.x)))
      if (reader != id && reader != norm.square) r.read_instead(reader, norm.x, norm.narrow);
    go_back_after(r, r.node(scale).outputs[0]);
    return true;
  }
  const bool gain = is_gain(r.tensor(weight));
  if (r.tensor(weight).kind != TensorKind::kParameter || !(weight_first || gain)) return false;
  if (cast) {
    if (gain || goes_back(r, r.node(scale).outputs[0])) return false;
    r.read_instead(id, norm.x, norm.narrow);
  } else {
    widen_operand(r, id, norm);
  }
  const bool wide_weight = writes_cast(r.node(scale), "weight>float");
  if (!gain && !wide_weight && !writes_cast(r.node(scale), "()>given")) {
    r.read_instead(scale, normal, narrowed(r, scale, normal));
    return true;
  }
  // A gain is known for a weight where it scales, and nowhere behind a cast.
  if (wide_weight && !gain) r.read_instead(scale, weight, widened(r, scale, weight));
  go_back_after(r, r.node(scale).outputs[0]);
  return true;
}

}  // namespace

size_t widen_norms(Graph& graph) {
  if (graph.exporter != Exporter::kPyTorch) return 0;
  Rewrite rewrite(graph);
  size_t count = 0;
  const size_t nodes = rewrite.nodes();
  for (NodeId id = 0; id < nodes; ++id) count += widen(rewrite, id) ? 1 : 0;
  rewrite.finish();
  return count;
}

}  // namespace plimsoll
