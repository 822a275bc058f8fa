#include "graph/parallel/tensor_parallel.h"

#include <utility>

#include "graph/eager/exchanged.h"

namespace plimsoll::parallel {

using eager::Machine;
using eager::Value;

void TensorParallel::before_node(NodeId node, std::vector<Value>& inputs) {
  if (!split_.begins.contains(node)) return;
  const TensorId id = graph_.nodes[node].inputs[0];
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

}  // namespace

// Parts of the last dimension come one behind the other, and are put beside each other in a copy;
// of the gradient a rank copies its part (torch/distributed/_functional_collectives.py,
// all_gather_tensor(); tensor/placement_types.py, _replicate_to_shard()).
Value TensorParallel::gathered(const Value& part) {
  Shape sizes = part.sizes();
  sizes.back() *= m_.recipe().parallel.mesh.extent(Axis::kTensor);
  const Value received = m_.allocate(part.dtype(), sizes);
  m_.await(m_.issue(
      {.kind = CollectiveKind::kAllGather, .axis = Axis::kTensor, .bytes = received.bytes()}));
  Value all = m_.allocate(part.dtype(), sizes);
  copy(m_, received, all);
  const Value inputs[] = {part};
  m_.record(all, inputs, {}, [](Machine& mm, const eager::Gradients& g, const eager::GradNode& n) {
    Value mine = mm.allocate(g[0].dtype(), n.edges[0].input->sizes);
    copy(mm, g[0], mine);
    return eager::Gradients{mine};
  });
  return all;
}

void TensorParallel::after_node(NodeId node, std::vector<Value>& outputs) {
  if (split_.gathered.contains(node)) outputs[0] = gathered(outputs[0]);
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
