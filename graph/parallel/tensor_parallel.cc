#include "graph/parallel/tensor_parallel.h"

#include <utility>

#include "graph/eager/exchanged.h"

namespace plimsoll::parallel {

using eager::Machine;
using eager::Value;

void TensorParallel::before_node(NodeId node, std::vector<Value>& inputs) {
  if (split_.cut.contains(node)) inputs[0] = scattered(inputs[0]);
  if (!split_.begins.contains(node)) return;
  const TensorId id = graph_.nodes[node].inputs[0];
  // Each layer whose part is gathered is a module by itself, which sums the gradient of its input.
  if (split_.gathered.contains(node)) {
    inputs[0] = copied(inputs[0], id);
    return;
  }
  if (read_ != id) {
    whole_ = copied(inputs[0], id);
    read_ = id;
  }
  inputs[0] = whole_;
  if (split_.copied.at(id) != node) return;
  read_ = kNoTensor;
  whole_ = {};
}

// The same on all ranks, or gathered; gradients of all are summed, in place, or scattered.
Value TensorParallel::copied(const Value& x, TensorId id) {
  const auto part = split_.values.find(id);
  if (part != split_.values.end()) {
    Shape sizes = x.sizes();
    sizes[part->second] *= m_.recipe().parallel.mesh.extent(Axis::kTensor);
    return exchanged(m_, x, sizes, Axis::kTensor, CollectiveKind::kAllGather,
                     CollectiveKind::kReduceScatter);
  }
  Value y = m_.view_of(x, x.layout_ref());
  const Value inputs[] = {x};
  m_.record(y, inputs, {},
            [](eager::Machine& mm, const eager::Gradients& g, const eager::GradNode&) {
              mm.await(mm.issue(
                  {.axis = Axis::kTensor, .bytes = g[0].bytes(), .buffer = g[0].storage()->id()}));
              return eager::Gradients{g[0]};
            });
  return y;
}

namespace {

void copy(Machine& m, const Value& from, const Value& to) {
  m.launch_rows(KernelClass::kPointwise, "copy", 0, {&from}, {&to});
}

Value all_parts(Machine& m, const Value& part) {
  Shape sizes = part.sizes();
  sizes.back() *= m.recipe().parallel.mesh.extent(Axis::kTensor);
  const Value received = m.allocate(part.dtype(), sizes);
  m.await(m.issue(
      {.kind = CollectiveKind::kAllGather, .axis = Axis::kTensor, .bytes = received.bytes()}));
  Value all = m.allocate(part.dtype(), sizes);
  copy(m, received, all);
  return all;
}

Value part_of_all(Machine& m, const Value& all) {
  Shape sizes = all.sizes();
  sizes.back() = part_of(sizes.back(), m.recipe().parallel.mesh.extent(Axis::kTensor));
  Value part = m.allocate(all.dtype(), sizes);
  copy(m, all, part);
  return part;
}

}  // namespace

// Parts of the last dimension come one behind the other, and are put beside each other in a copy;
// of the gradient a rank copies its part (torch/distributed/_functional_collectives.py,
// all_gather_tensor(); tensor/placement_types.py, _replicate_to_shard()).
Value TensorParallel::gathered(const Value& part) {
  Value all = all_parts(m_, part);
  const Value inputs[] = {part};
  m_.record(all, inputs, {}, [](Machine& mm, const eager::Gradients& g, const eager::GradNode&) {
    return eager::Gradients{part_of_all(mm, g[0])};
  });
  return all;
}

Value TensorParallel::scattered(const Value& whole) {
  Value part = part_of_all(m_, whole);
  const Value inputs[] = {whole};
  m_.record(part, inputs, {}, [](Machine& mm, const eager::Gradients& g, const eager::GradNode&) {
    return eager::Gradients{all_parts(mm, g[0])};
  });
  return part;
}

void TensorParallel::after_node(NodeId node, std::vector<Value>& outputs) {
  if (split_.gathered.contains(node)) outputs[0] = gathered(outputs[0]);
  if (split_.scattered.contains(node)) outputs[0] = scattered(outputs[0]);
  if (!split_.ends.contains(node)) return;
  Value& sum = outputs[0];
  const TensorId id = graph_.nodes[node].outputs[0];
  if (split_.values.contains(id)) {
    sum = exchanged(m_, sum, *graph_.tensors[id].shape, Axis::kTensor,
                    CollectiveKind::kReduceScatter, CollectiveKind::kAllGather);
    return;
  }
  m_.await(m_.issue({.axis = Axis::kTensor, .bytes = sum.bytes(), .buffer = sum.storage()->id()}));
}

}  // namespace plimsoll::parallel
