#include "estimator/memory/in_place.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

// PyTorch keeps no copy of what these read.
bool is_activation(const Node& node) { return has(node, OpRow::kRectifier | OpRow::kOfResult); }

// What layers and operators of other frameworks write to where their input was.
bool is_of_one_input(const Node& node) {
  return has(node, OpRow::kOfResult) || node.op == "Clip" || node.op == "Dropout";
}

bool is_elementwise(const Node& node) {
  return is_of_one_input(node) || is_sum(node) || is_difference(node) || is_product(node) ||
         node.op == "HardSwish";
}

class InPlaceRule {
 public:
  InPlaceRule(const Graph& graph, InPlaceReuse reuse)
      : graph_(graph), reuse_(reuse), activated_(graph.tensors.size(), false) {
    for (const Node& node : graph.nodes) {
      if (!is_activation(node)) continue;
      for (const TensorId id : node.inputs) {
        if (id != kNoTensor) activated_[id] = true;
      }
    }
  }

  bool in_place(NodeId id) const {
    if (reuse_ == InPlaceReuse::kNever || id == kNoNode) return false;
    const Node& node = graph_.nodes[id];
    if (reuse_ == InPlaceReuse::kActivations) return is_of_one_input(node);
    if (reuse_ == InPlaceReuse::kElementwise) return is_elementwise(node);
    if (node.outputs.empty() || node.outputs.front() == kNoTensor) return false;
    const TensorId out = node.outputs.front();
    const auto& shape = graph_.tensors[out].shape;
    if (!shape || shape->size() < kFeatureMapRank) return false;
    return is_activation(node) || (is_sum(node) && activated_[out] && joins_maps(node, *shape));
  }

 private:
  // A branch and its shortcut, not a map and a number for each of its channels.
  bool joins_maps(const Node& node, const Shape& shape) const {
    return std::ranges::all_of(node.inputs, [&](TensorId in) {
      return in != kNoTensor && graph_.tensors[in].shape == shape;
    });
  }

  static constexpr size_t kFeatureMapRank = 4;
  const Graph& graph_;
  InPlaceReuse reuse_;
  std::vector<bool> activated_;  // by tensor: read by an activation
};

}  // namespace

std::vector<BufferId> storage_taken(const Graph& graph, const Step& step,
                                    const std::vector<int64_t>& bytes, InPlaceReuse reuse) {
  std::vector<BufferId> taken(step.buffers.size());
  std::iota(taken.begin(), taken.end(), BufferId{0});
  const InPlaceRule rule(graph, reuse);
  constexpr auto kNone = static_cast<BufferId>(-1);
  NodeId node = kNoNode;    // whose operation this is
  BufferId result = kNone;  // its last allocation
  for (const Event& e : step.events) {
    if (e.node != node) result = kNone;
    node = e.node;
    if (e.phase != Phase::kForward) break;
    if (e.kind == Event::Kind::kAllocate) result = e.id;
    const bool input_dies = e.kind == Event::Kind::kFree && result != kNone && e.id != result;
    if (input_dies && bytes[e.id] == bytes[result] && rule.in_place(node)) {
      taken[result] = e.id;
      result = kNone;
    }
  }
  return taken;
}

std::vector<BufferId> carried_over(const Step& step, const std::vector<int64_t>& bytes) {
  std::vector<BufferId> successor(step.buffers.size(), kNoBuffer);
  const auto like = [&](BufferId id) { return std::pair(bytes[id], step.buffers[id].stream); };
  std::map<std::pair<int64_t, Stream>, std::vector<BufferId>> left;  // last first
  for (size_t i = step.events.size(); i > 0; --i) {
    const Event& e = step.events[i - 1];
    if (e.kind != Event::Kind::kFree || e.node != kNoNode) break;
    left[like(e.id)].push_back(e.id);
  }
  for (const Event& e : step.events) {
    if (e.kind == Event::Kind::kBecomeGradient) continue;
    if (e.kind != Event::Kind::kAllocate || e.node != kNoNode) break;
    auto& same = left[like(e.id)];
    if (same.empty() || same.back() == e.id) continue;
    successor[e.id] = same.back();
    same.pop_back();
  }
  return successor;
}

}  // namespace plimsoll
