#include "graph/parallel/buffered_gradients.h"

#include <utility>

#include "graph/ops/op_row.h"
#include "graph/parallel/summed.h"

namespace plimsoll::parallel {

using eager::GradNode;
using eager::Value;

namespace {

bool is_of_expert(const GradNode& leaf) { return leaf.split && leaf.split->axis == Axis::kExpert; }

// Weights that operators read as a dense layer's matrix, and as nothing else.
std::vector<TensorId> matrices(const Graph& graph) {
  std::vector<int64_t> readers(graph.tensors.size()), products(graph.tensors.size());
  for (const Node& node : graph.nodes) {
    for (const TensorId in : node.inputs) {
      if (in != kNoTensor) ++readers[in];
    }
    if (has(node, OpRow::kDense) && node.inputs.size() > 1 && node.inputs[1] != kNoTensor)
      ++products[node.inputs[1]];
  }
  std::vector<TensorId> found;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    if (products[id] > 0 && products[id] == readers[id]) found.push_back(id);
  }
  return found;
}

}  // namespace

BufferedGradients::BufferedGradients(eager::Machine& m, const Graph& graph,
                                     std::span<const Value> values)
    : m_(m) {
  if (m_.recipe().parallel.gradient_buffer == GradientBuffer::kAsReady) {
    for (const TensorId id : matrices(graph)) {
      if (values[id].defined() && values[id].requires_grad())
        of_products_.insert(values[id].grad().get());
    }
  }
  Dim count = 0;
  for (const auto& leaf : m_.leaves()) count += leaf->leaf.count();
  const DType type = m_.recipe().precision->master.value_or(DType::kFloat32);
  buffer_ = m_.resident(type, {count}, Role::kGradient);
}

bool BufferedGradients::scatters() const {
  const ParallelPlan& plan = m_.recipe().parallel;
  return plan.sharded == Sharded::kStates && plan.mesh.shards() > 1;
}

void BufferedGradients::begin_backward(bool last) {
  last_ = last;
  if (until_next() && !first_) first_ = m_.here();
  added_.clear();
}

void BufferedGradients::gradient_ready(GradNode& leaf) {
  if (m_.recipe().parallel.gradient_buffer == GradientBuffer::kAsReady) add(leaf);
}

bool BufferedGradients::until_next() const {
  return m_.recipe().parallel.gradient_buffer == GradientBuffer::kUntilNext;
}

Value BufferedGradients::widened(const Value& gradient) {
  const Value copy = m_.allocate(buffer_.dtype(), {gradient.count()});
  const Value read[] = {gradient};
  m_.launch_over(KernelClass::kCopy, "cast", 0, read, copy);
  return copy;
}

void BufferedGradients::add(GradNode& leaf) {
  if (!leaf.gradient.defined()) return;
  if (!of_products_.contains(&leaf)) {
    const Dim& count = leaf.gradient.count();
    const Value window = m_.view_of(buffer_, eager::contiguous_layout(buffer_.dtype(), {count}));
    const Value addend = until_next() ? widened(leaf.gradient) : leaf.gradient;
    m_.launch_rows(KernelClass::kPointwise, "add", count, {&window, &addend}, {&window});
  }
  Value added = std::exchange(leaf.gradient, {});
  if (until_next()) added_.push_back(std::move(added));
}

void BufferedGradients::end_backward() {
  for (const auto& leaf : m_.leaves()) add(*leaf);
  if (!last_) return;
  exchange();
  for (const auto& leaf : m_.leaves()) {
    const Shape& sizes = leaf->updated ? *leaf->updated : leaf->leaf.sizes();
    if (leaf->reached)
      leaf->gradient = m_.view_of(buffer_, eager::contiguous_layout(buffer_.dtype(), sizes));
  }
}

// In its place; those of experts are in a buffer of their own, which other ranks sum.
void BufferedGradients::exchange() {
  Dim of_experts = 0;
  std::optional<Placement> expert;
  for (const auto& leaf : m_.leaves()) {
    if (!is_of_expert(*leaf)) continue;
    of_experts += leaf->leaf.count();
    expert = leaf->split;
  }
  const Dim bytes = plimsoll::bytes(buffer_.dtype(), of_experts);
  sum(buffer_.bytes() - bytes, std::nullopt);
  if (expert) sum(bytes, expert);
}

void BufferedGradients::sum(const Dim& bytes, const std::optional<Placement>& part) {
  for (const auto& [axis, joined] : sums_of(m_.recipe().parallel, part)) {
    const bool scattered = axis == Axis::kShard && scatters();
    m_.await(
        m_.issue({.kind = scattered ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                  .axis = axis,
                  .bytes = bytes,
                  .joined = joined}));
  }
}

// Zeros for the next step; ranks give each other what they updated, in the weights' own places.
void BufferedGradients::after_update() {
  const size_t end = m_.here();
  added_.clear();
  if (first_) m_.carry_over(end, *std::exchange(first_, std::nullopt));
  m_.launch_rows(KernelClass::kCopy, "fill", 0, {}, {&buffer_});
  if (!scatters()) return;
  Dim bytes = 0, of_experts = 0;
  for (const auto& leaf : m_.leaves())
    (is_of_expert(*leaf) ? of_experts : bytes) += leaf->leaf.bytes();
  gather(bytes, true);
  if (m_.recipe().parallel.mesh.extent(Axis::kShard) > 1) gather(of_experts, false);
}

void BufferedGradients::gather(const Dim& bytes, bool joined) {
  if (bytes == Dim(0)) return;
  m_.await(m_.issue({.kind = CollectiveKind::kAllGather,
                     .axis = Axis::kShard,
                     .bytes = bytes,
                     .joined = joined}));
}

}  // namespace plimsoll::parallel
