#include "graph/rewrite/widen_norms.h"

#include <string_view>
#include <utility>
#include <vector>

#include "graph/rewrite/editor.h"
#include "graph/rewrite/inserted_cast.h"

namespace plimsoll {
namespace {

// x * 1 / sqrt(mean(x^2) + eps)
struct Norm {
  TensorId x = kNoTensor;
  NodeId square = kNoNode;
  TensorId narrow = kNoTensor;  // what a cast made x of
};

const Node* root_inverted_by(const Rewrite& r, TensorId value) {
  if (const Node* inverse = r.made_by(value, "Reciprocal"))
    return r.made_by(inverse->inputs[0], "Sqrt");
  const Node* div = r.made_by(value, "Div");
  return div && r.is_number(div->inputs[0], 1) ? r.made_by(div->inputs[1], "Sqrt") : nullptr;
}

// kNoTensor of any other node.
Norm norm_at(const Rewrite& r, const Node& node) {
  if (node.op != "Mul" || node.notes.fused_norm) return {};
  const Node* root = root_inverted_by(r, node.inputs[1]);
  const Node* shifted = root ? r.made_by(root->inputs[0], "Add") : nullptr;
  const Node* mean = shifted ? r.made_by(shifted->inputs[0], "ReduceMean") : nullptr;
  const Node* square = mean ? r.made_by(mean->inputs[0], "Pow") : nullptr;
  if (!square || !r.is_number(square->inputs[1], 2)) return {};
  const TensorId x = node.inputs[0];
  if (square->inputs[0] != x) return {};
  const Node* cast = r.made_by(x, "Cast");
  return {x, r.producer(square->outputs[0]), cast ? cast->inputs[0] : kNoTensor};
}

// One plus a weight, folded: exporters name it after the addition.
bool is_gain(const Tensor& t) { return t.name == "add" || t.name.starts_with("add_"); }

bool goes_back(const Rewrite& r, TensorId scaled) {
  const NodeId reader = r.only_reader(scaled);
  return reader != kNoNode && r.node(reader).op == "Cast";
}

// Does the source line cast something of this kind, "x>float" or "()>given"?
bool writes_cast(const Node& node, std::string_view cast) {
  return node.notes.casts.find(cast) != std::string::npos;
}

// x - mean(x), whose mean is taken in single precision too; kNoTensor of anything else.
TensorId centred(const Rewrite& r, TensorId t) {
  const Node* sub = r.made_by(t, "Sub");
  const Node* mean = sub ? r.made_by(sub->inputs[1], "ReduceMean") : nullptr;
  return mean && mean->inputs[0] == sub->inputs[0] ? sub->inputs[0] : kNoTensor;
}

// The norm reads its operand in single precision; where its line says so, the square alone does.
void widen_operand(Rewrite& r, NodeId id, const Norm& norm) {
  if (const TensorId x = centred(r, norm.x); x != kNoTensor) {
    const NodeId sub = r.producer(norm.x);
    const NodeId mean = r.producer(r.node(sub).inputs[1]);
    const TensorId wide = widened(r, mean, x);
    r.read_instead(mean, x, wide);
    r.read_instead(sub, x, wide);
    return;
  }
  const TensorId wide = widened(r, norm.square, norm.x);
  r.read_instead(norm.square, norm.x, wide);
  if (!writes_cast(r.node(norm.square), ">float")) r.read_instead(id, norm.x, wide);
}

// All that read `scaled` read it in the norm's own type.
void go_back_after(Rewrite& r, TensorId scaled) {
  const std::vector<NodeId> readers = r.readers(scaled);
  if (readers.empty()) return;
  const TensorId back = narrowed(r, r.first_reader(scaled), scaled);
  for (const NodeId reader : readers) r.read_instead(reader, scaled, back);
}

bool widen(Rewrite& r, NodeId id) {
  const Norm norm = norm_at(r, r.node(id));
  const bool cast = norm.narrow != kNoTensor;
  if (norm.x == kNoTensor || r.tensor(norm.x).dtype != DType::kFloat32) return false;
  if (!cast && r.node(id).notes.calls.empty()) return false;
  const TensorId normal = r.node(id).outputs[0];
  const NodeId scale = r.only_reader(normal);
  if (scale == kNoNode || r.node(scale).op != "Mul") return false;
  const bool weight_first = r.node(scale).inputs[1] == normal;
  const TensorId weight = r.node(scale).inputs[weight_first ? 0 : 1];
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
  if (wide_weight) r.read_instead(scale, weight, widened(r, scale, weight));
  go_back_after(r, r.node(scale).outputs[0]);
  return true;
}

}  // namespace

size_t widen_norms(Graph& graph) {
  if (!graph.producer.starts_with("pytorch")) return 0;
  Rewrite rewrite(graph);
  size_t count = 0;
  const size_t nodes = rewrite.nodes();
  for (NodeId id = 0; id < nodes; ++id) count += widen(rewrite, id) ? 1 : 0;
  rewrite.finish();
  return count;
}

}  // namespace plimsoll
