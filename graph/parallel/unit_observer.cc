#include "graph/parallel/unit_observer.h"

#include <algorithm>
#include <utility>

namespace plimsoll::parallel {

bool computes_loss(const Recipe& recipe) {
  return recipe.widened_outputs == WidenedOutputs::kAccelerate && recipe.parallel.is_sharded() &&
         recipe.parallel.sharded_by != ShardedBy::kZero;
}

UnitObserver::UnitObserver(const std::vector<Unit>& units, const Unit& around, bool with_loss)
    : around_(units.size()), with_loss_(with_loss), unit_of_(around.last, units.size()) {
  for (size_t i = 0; i < units.size(); ++i)
    std::fill(unit_of_.begin() + units[i].first, unit_of_.begin() + units[i].last, i);
}

std::optional<size_t> UnitObserver::unit_of(NodeId node) const {
  if (node >= unit_of_.size() || unit_of_[node] == around_) return std::nullopt;
  return unit_of_[node];
}

void UnitObserver::come_to(std::optional<size_t> unit, Pass pass) {
  if (unit == current_) return;
  if (const auto left = std::exchange(current_, std::nullopt)) after_unit(*left, pass);
  current_ = unit;
  if (unit) before_unit(*unit, pass);
}

void UnitObserver::before_node(NodeId node, std::vector<eager::Value>& inputs) {
  if (in_backward_) {
    const auto unit = unit_of(node);
    if (unit && unit != current_) before_unit(*unit, Pass::kBackward);
    if (unit) before_node_again(*unit, inputs);
    return;
  }
  if (!std::exchange(in_forward_, true)) before_unit(around_, Pass::kForward);
  come_to(unit_of(node), Pass::kForward);
}

void UnitObserver::end_forward() {
  come_to(std::nullopt, Pass::kForward);
  if (std::exchange(in_forward_, false)) after_unit(around_, Pass::kForward);
}

void UnitObserver::begin_backward(bool /*last*/) { in_backward_ = around_due_ = true; }

// The engine takes nodes from the last to the first, so that a unit's follow each other here too.
// The unit around them begins where what it returns has its gradient: the loss, or the network's
// own outputs behind it.
void UnitObserver::before_backward_of(NodeId node) {
  if (!in_backward_) return;
  const bool begins = with_loss_ || node < unit_of_.size();
  if (begins && std::exchange(around_due_, false)) before_unit(around_, Pass::kBackward);
  come_to(unit_of(node), Pass::kBackward);
}

void UnitObserver::end_backward() {
  come_to(std::nullopt, Pass::kBackward);
  if (std::exchange(in_backward_, false)) after_unit(around_, Pass::kBackward);
}

}  // namespace plimsoll::parallel
