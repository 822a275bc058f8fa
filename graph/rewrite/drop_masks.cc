#include "graph/rewrite/drop_masks.h"

#include <algorithm>
#include <array>

#include "graph/rewrite/editor.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 4> kComparisons = {"Less", "LessOrEqual", "Greater",
                                                          "GreaterOrEqual"};

const Node* maker(const Rewrite& r, TensorId tensor) {
  const NodeId id = tensor == kNoTensor ? kNoNode : r.producer(tensor);
  return id == kNoNode ? nullptr : &r.node(id);
}

// Nodes between a draw and what its mask multiplies: four in the sources named.
constexpr int kLongest = 8;

// A uniform draw, perhaps with a number added.
bool is_uniform(const Rewrite& r, TensorId tensor) {
  for (int i = 0; i < kLongest; ++i) {
    const Node* node = maker(r, tensor);
    if (node == nullptr) return false;
    if (node->op == "RandomUniform" || node->op == "RandomUniformLike") return true;
    if (node->op != "Add") return false;
    const size_t number = r.is_host_number(node->inputs[0]) ? 0 : 1;
    if (!r.is_host_number(node->inputs[number])) return false;
    tensor = node->inputs[1 - number];
  }
  return false;
}

bool is_mask(const Rewrite& r, TensorId tensor) {
  for (int i = 0; i < kLongest; ++i) {
    const Node* node = maker(r, tensor);
    if (node == nullptr) return false;
    if (node->op == "Bernoulli") return true;
    if (node->op == "Floor") return is_uniform(r, node->inputs[0]);
    if (std::ranges::find(kComparisons, node->op) != kComparisons.end())
      return is_uniform(r, node->inputs[0]) && r.is_host_number(node->inputs[1]);
    const bool scales = node->op == "Div" || node->op == "Mul";
    const bool same = node->op == "Cast" || node->op == "Identity" ||
                      (scales && r.is_host_number(node->inputs[1]));
    if (!same) return false;
    tensor = node->inputs[0];
  }
  return false;
}

// The operand that a mask multiplies; kNoTensor where none does, or the mask is the larger.
TensorId masked(const Rewrite& r, const Node& node) {
  if (node.op != "Mul") return kNoTensor;
  for (const size_t at : {0, 1}) {
    const TensorId x = node.inputs[at];
    if (!is_mask(r, node.inputs[1 - at]) || is_mask(r, x) || !r.tensor(x).shape) continue;
    if (r.tensor(x).shape == r.tensor(node.outputs[0]).shape) return x;
  }
  return kNoTensor;
}

}  // namespace

DroppedMasks drop_masks(Graph& graph) {
  Rewrite r(graph);
  DroppedMasks dropped;
  for (NodeId id = 0; id < r.nodes(); ++id) {
    if (r.dead(id)) continue;
    const TensorId x = masked(r, r.node(id));
    const TensorId y = r.node(id).outputs.empty() ? kNoTensor : r.node(id).outputs[0];
    // What the graph returns keeps its node.
    if (x == kNoTensor || r.is_host_number(x) || r.uses(y) > r.readers(y).size()) continue;
    const std::vector<NodeId> readers = r.readers(y);
    for (const NodeId reader : readers) r.read_instead(reader, y, x);
    ++dropped.masks;
  }
  r.drop_unread();
  dropped.new_ids = r.finish();
  return dropped;
}

}  // namespace plimsoll
