#include "graph/train/named_outputs.h"

#include <utility>

namespace plimsoll {

void NamedOutputs::hold(std::vector<eager::Value> outputs) {
  outputs_ = std::move(outputs);
  if (from_step_to_step_ && !first_) first_ = m_.here();
}

void NamedOutputs::end_pass() {
  if (!from_step_to_step_) outputs_.clear();
}

void NamedOutputs::end_step() {
  const size_t end = m_.here();
  outputs_.clear();
  if (first_) m_.carry_over(end, *first_);
}

}  // namespace plimsoll
