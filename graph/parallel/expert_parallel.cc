#include "graph/parallel/expert_parallel.h"

#include <cmath>

#include "graph/eager/exchanged.h"
#include "graph/eager/ops.h"

namespace plimsoll::parallel {

using eager::Value;

namespace {

constexpr int64_t kParts = 1000;  // of a capacity, which is a factor such as 1.25

}  // namespace

// A copy in another order, with room for as many rows.
Value ExpertParallel::permuted(const Value& x, const Dim& rows) {
  Shape sizes = x.sizes();
  sizes.front() = rows;
  return eager::rearrange(m_, "permute", x, sizes);
}

Value ExpertParallel::sent(const Value& x) {
  return eager::exchanged(m_, x, x.sizes(), Axis::kExpert, CollectiveKind::kAllToAll,
                          CollectiveKind::kAllToAll);
}

void ExpertParallel::before_node(NodeId node, std::vector<Value>& inputs) {
  if (!split_.begins.contains(node)) return;
  rows_ = inputs[0].sizes().front();
  const double capacity = m_.recipe().parallel.capacity;
  Dim rows = rows_;
  if (capacity > 0)
    rows = ceil_div(rows_ * Dim(std::llround(capacity * static_cast<double>(kParts))), kParts);
  const Value given = capacity > 0 ? permuted(inputs[0], rows) : inputs[0];
  inputs[0] = permuted(sent(given), rows);
}

void ExpertParallel::after_node(NodeId node, std::vector<Value>& outputs) {
  if (!split_.ends.contains(node)) return;
  const Value back = sent(permuted(outputs[0], outputs[0].sizes().front()));
  const bool padded = m_.recipe().parallel.capacity > 0;
  outputs[0] = padded ? permuted(back, rows_) : back;
}

}  // namespace plimsoll::parallel
