#include "graph/rewrite/drop_masks.h"

#include "graph/rewrite/pattern.h"

namespace plimsoll {
namespace {

using patterns::Fragment;

// A uniform draw, perhaps with a number added, cut to zeros and ones, and scaled.
constinit const Fragment kUniform("y = RandomUniform() | RandomUniformLike(_)");
constinit const Fragment kShifted("y = Add(x, #)");
constinit const Fragment kCut("y = Floor(x) | Less|LessOrEqual|Greater|GreaterOrEqual(x, #)");
constinit const Fragment kBernoulli("y = Bernoulli(_) | plimsoll:Bernoulli(_)");
constinit const Fragment kScaled("y = Cast|Identity(x) | Div|Mul(x, #)");
constinit const Fragment kProduct("y = Mul(a, b)");

bool is_mask(const Rewrite& r, TensorId tensor) {
  tensor = kScaled.behind(r, tensor);
  const TensorId cut = kCut.in(r, tensor, "x");
  return kBernoulli.of(r, tensor) || kUniform.of(r, kShifted.behind(r, cut));
}

// The operand that a mask multiplies; kNoTensor where none does, or the mask is the larger.
TensorId masked(const Rewrite& r, NodeId id) {
  const auto product = kProduct.at(r, id);
  for (const auto& [data, mask] : {std::pair("a", "b"), std::pair("b", "a")}) {
    const TensorId x = product ? (*product)[data] : kNoTensor;
    if (x == kNoTensor || !is_mask(r, (*product)[mask]) || is_mask(r, x)) continue;
    if (r.tensor(x).shape && r.tensor(x).shape == r.tensor((*product)["y"]).shape) return x;
  }
  return kNoTensor;
}

}  // namespace

DroppedMasks drop_masks(Graph& graph) {
  Rewrite r(graph);
  DroppedMasks dropped;
  for (NodeId id = 0; id < r.nodes(); ++id) {
    const TensorId x = r.is_removed(id) ? kNoTensor : masked(r, id);
    if (x == kNoTensor) continue;
    const TensorId y = r.node(id).outputs[0];
    // What the graph returns keeps its node.
    if (r.is_host_number(x) || r.uses(y) > r.readers(y).size()) continue;
    const std::vector<NodeId> readers = r.readers(y);
    for (const NodeId reader : readers) r.read_instead(reader, y, x);
    ++dropped.masks;
  }
  if (dropped.masks > 0) r.drop_unread();  // else nothing moves: others hold numbers of nodes
  dropped.new_ids = r.finish();
  return dropped;
}

}  // namespace plimsoll
