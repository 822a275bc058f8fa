#include "estimator/model/turned_layout.h"

#include <algorithm>
#include <array>
#include <vector>

#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

enum class Kind : uint8_t { kUsual, kGrouped, kSmall, kNarrowing };

// By kind: what channels last take of the time of channels first (decide_layout_opt, from
// torchbench's convolutions).
constexpr std::array<double, 4> kFactors = {.823, 1.358, .783, .725};
constexpr int64_t kSmallChannels = 64;

struct Seen {
  Kind kind = Kind::kUsual;
  bool small = false, narrowing = false;
  double flop = 0;
};

Seen look_at(const Graph& graph, const Node& node, const Binding& binding) {
  const auto size = [&](const Shape& shape, size_t i) {
    return i < shape.size() ? shape[i].evaluate(binding).value_or(0) : 0;
  };
  const Shape weight = graph.tensors[node.inputs[1]].shape.value_or(Shape{});
  const Shape result = graph.tensors[node.outputs[0]].shape.value_or(Shape{});
  const int64_t out = size(weight, 0), in = size(weight, 1),
                taps = size(weight, 2) * size(weight, 3);
  Seen seen;
  seen.small = out <= kSmallChannels && in <= kSmallChannels;
  seen.narrowing = 2 * out <= in && size(weight, 2) > 1;
  seen.kind = node.attributes.integer("group", 1) > 1 && in > 1 ? Kind::kGrouped
              : seen.small                                      ? Kind::kSmall
              : seen.narrowing                                  ? Kind::kNarrowing
                                                                : Kind::kUsual;
  seen.flop = static_cast<double>(elements(result).evaluate(binding).value_or(0)) *
              static_cast<double>(in) * static_cast<double>(taps);
  return seen;
}

}  // namespace

bool turns_channels_last(const Graph& graph, Mode mode, const Binding& binding) {
  std::vector<Seen> all;
  for (const Node& node : graph.nodes) {
    const bool convolution = has(node, OpRow::kConvolutional);
    if (convolution && node.inputs.size() > 1) all.push_back(look_at(graph, node, binding));
  }
  if (all.empty()) return false;
  if (mode == Mode::kInference) {
    double first = 0, last = 0;
    for (const Seen& seen : all) {
      first += seen.flop;
      last += seen.flop * kFactors[static_cast<size_t>(seen.kind)];
    }
    return last <= first;
  }
  const auto any = [&](auto is) { return std::ranges::any_of(all, is); };
  return !any([](const Seen& s) { return s.kind == Kind::kGrouped || s.narrowing; }) &&
         any([](const Seen& s) { return !s.small; });
}

}  // namespace plimsoll
