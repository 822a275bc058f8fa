#include "estimator/memory/in_place.h"

#include <array>
#include <numeric>
#include <string_view>

#include "graph/base/among.h"

namespace plimsoll {
namespace {

// Activations whose derivative needs their result only: PyTorch keeps no copy of the input.
constexpr std::array<std::string_view, 3> kActivations = {"Relu", "LeakyRelu", "Elu"};
constexpr std::array<std::string_view, 7> kOneInput = {"Relu",    "Clip", "LeakyRelu", "Elu",
                                                       "Sigmoid", "Tanh", "Dropout"};
constexpr std::array<std::string_view, 5> kOthers = {"Add", "Sum", "Sub", "Mul", "HardSwish"};

class Habit {
 public:
  Habit(const Graph& graph, InPlaceHabit habit)
      : graph_(graph), habit_(habit), activated_(graph.tensors.size(), false) {
    for (const Node& node : graph.nodes) {
      if (!among(node.op, kActivations)) continue;
      for (const TensorId id : node.inputs) {
        if (id != kNoTensor) activated_[id] = true;
      }
    }
  }

  bool in_place(NodeId id) const {
    if (habit_ == InPlaceHabit::kNever || id == kNoNode) return false;
    const Node& node = graph_.nodes[id];
    if (habit_ == InPlaceHabit::kActivations) return among(node.op, kOneInput);
    if (habit_ == InPlaceHabit::kElementwise)
      return among(node.op, kOneInput) || among(node.op, kOthers);
    if (node.outputs.empty()) return false;
    const TensorId out = node.outputs.front();
    const auto& shape = graph_.tensors[out].shape;
    if (!shape || shape->size() < kFeatureMapRank) return false;
    return among(node.op, kActivations) || (node.op == "Add" && activated_[out]);
  }

 private:
  static constexpr size_t kFeatureMapRank = 4;
  const Graph& graph_;
  InPlaceHabit habit_;
  std::vector<bool> activated_;  // by tensor: read by an activation
};

}  // namespace

std::vector<BufferId> storage_taken(const Graph& graph, const Step& step,
                                    const std::vector<int64_t>& bytes, InPlaceHabit habit) {
  std::vector<BufferId> taken(step.buffers.size());
  std::iota(taken.begin(), taken.end(), BufferId{0});
  const Habit rule(graph, habit);
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

}  // namespace plimsoll
