#include "graph/parallel/sharded.h"

#include <algorithm>
#include <utility>

#include "graph/eager/ops.h"
#include "graph/eager/update.h"

namespace plimsoll::parallel {

using eager::Value;

namespace {

bool is_sharded(const Value& weight) {
  if (!weight.defined() || !weight.on_device()) return false;
  const bool updated = weight.requires_grad() && weight.grad()->updated;
  return updated || weight.storage()->id() == kNoBuffer;
}

}  // namespace

ShardedTraining::ShardedTraining(eager::Machine& m, const std::vector<Unit>& units,
                                 const Unit& around, std::span<const Value> values)
    : UnitObserver(units, around), m_(m), plan_(m.recipe().parallel) {
  for (const Unit& unit : units) add(unit, values);
  add(around, values);
}

void ShardedTraining::add(const Unit& unit, std::span<const Value> values) {
  Group& group = groups_.emplace_back();
  for (const TensorId id : unit.weights) {
    const Value& whole = values[id];
    if (!is_sharded(whole)) continue;
    group.weights.push_back({.whole = whole, .leaf = whole.grad()});
    group.bytes += bytes_of_parts(whole);
    if (part(whole).dtype != whole.dtype()) group.cast += bytes_of_first(whole);
  }
}

TensorType ShardedTraining::part(const Value& whole) const {
  return eager::updated_type(m_.recipe(),
                             {whole.dtype(), part_of(whole.sizes(), kShardPart, plan_.mesh)});
}

Dim ShardedTraining::bytes_of_first(const Value& whole) const {
  return bytes(whole.dtype(), elements(largest_part_of(whole.sizes(), kShardPart, plan_.mesh)));
}

Dim ShardedTraining::bytes_of_parts(const Value& whole) const {
  return bytes_of_first(whole) * Dim(plan_.mesh.shards());
}

void ShardedTraining::before_unit(size_t unit, Pass pass) {
  Group& group = groups_[unit];
  if (plan_.sharded < Sharded::kWeights) return;
  if (!group.bound && !group.weights.empty()) {
    gather(group);
    m_.await(*std::exchange(group.gathering, std::nullopt));
    last_buffer_ = {};
    copy_out(group);
    Value buffer = std::exchange(group.buffer, {});
    if (pass == Pass::kForward) last_buffer_ = std::move(buffer);
  }
  if (pass == Pass::kForward) {
    if (const size_t next = after(unit); next < around()) begin_gathering(groups_[next]);
  } else if (unit > 0) {
    gather(groups_[unit - 1]);
  }
}

void ShardedTraining::after_unit(size_t unit, Pass pass) {
  Group& group = groups_[unit];
  if (pass == Pass::kForward) {
    if (unit == around()) {
      last_buffer_ = {};
    } else if (!plan_.keeps_gathered) {
      unbind(group);
    }
    return;
  }
  scatter_gradients(group);
}

// Unless that has begun, or the unit is there. What is gathered ahead in a forward pass has memory
// where the host comes to the unit.
void ShardedTraining::begin_gathering(Group& group) {
  if (group.bound || group.gathering || group.weights.empty()) return;
  group.gathering = m_.issue({.kind = CollectiveKind::kAllGather,
                              .axis = Axis::kShard,
                              .bytes = group.bytes,
                              .joined = true});
}

void ShardedTraining::gather(Group& group) {
  if (group.bound || group.buffer.defined() || group.weights.empty()) return;
  Value cast;
  if (group.cast != Dim(0)) cast = m_.allocate_in(Stream::kGather, DType::kInt8, {group.cast});
  group.buffer = m_.allocate_in(Stream::kGather, DType::kInt8, {group.bytes});
  cast = {};
  begin_gathering(group);
}

void ShardedTraining::copy_out(Group& group) {
  for (const Weight& weight : group.weights) m_.bind(weight.whole, bytes_of_parts(weight.whole));
  const Value read[] = {group.buffer};
  m_.launch_over(KernelClass::kCopy, "cat", 0, read, group.buffer);
  group.bound = true;
}

void ShardedTraining::unbind(Group& group) {
  if (!std::exchange(group.bound, false)) return;
  for (const Weight& weight : group.weights) m_.unbind(weight.whole);
}

void ShardedTraining::begin_backward(bool last) {
  last_ = last;
  for (Group& group : groups_) {
    for (Weight& weight : group.weights) {  // a gradient of the pass before, or kept between steps
      if (!weight.leaf || !weight.leaf->gradient.defined()) continue;
      const bool is_part = weight.leaf->gradient.count() == elements(part(weight.whole).shape);
      if (plan_.sharded >= Sharded::kGradients && is_part)
        weight.gradient = std::exchange(weight.leaf->gradient, {});
    }
  }
  UnitObserver::begin_backward(last);
}

void ShardedTraining::end_backward() {
  UnitObserver::end_backward();
  end_scatter();
  for (const uint32_t sum : std::exchange(summing_, {})) m_.await(sum);
  for (Group& group : groups_) {
    // What another chunk's forward pass is to read goes on.
    const bool ahead = group.gathering && !group.buffer.defined() && !last_;
    if (group.gathering && !ahead) m_.await(*std::exchange(group.gathering, std::nullopt));
    group.buffer = {};
    unbind(group);
    for (Weight& weight : group.weights) {
      if (last_ && weight.gradient.defined())
        weight.leaf->gradient = std::exchange(weight.gradient, {});
    }
  }
}

// Whole gradients are copied to one buffer, whose sum over the devices is scattered; the weights go
// before it is there. The buffer of the unit before goes first.
void ShardedTraining::scatter_gradients(Group& group) {
  if (plan_.exchanges_last && !last_) {
    keep_whole_gradients(group);
    return;
  }
  std::vector<Weight*> reached;
  std::vector<Value> gradients;
  Dim count = 0;
  for (Weight& weight : group.weights) {
    if (!weight.leaf || !weight.leaf->gradient.defined()) continue;
    reached.push_back(&weight);
    // In the type of the part that is kept (MixedPrecisionPolicy.reduce_dtype).
    const int64_t each = bits(part(weight.whole).dtype);
    count += floor_div(bytes_of_parts(weight.whole) * Dim(each), bits(weight.whole.dtype()));
    if (plan_.sharded >= Sharded::kGradients)
      gradients.push_back(std::exchange(weight.leaf->gradient, {}));
  }
  unbind(group);
  if (gradients.empty()) return;
  end_scatter();
  Value input = m_.allocate(DType::kInt8, {count});
  m_.launch_over(KernelClass::kCopy, "cat", 0, gradients, input);
  gradients.clear();
  const Value sum = scattered(std::move(input));
  for (Weight* weight : reached) {
    const TensorType mine_of = part(weight->whole);
    Value mine = m_.view_of(sum, eager::contiguous_layout(mine_of.dtype, mine_of.shape));
    if (!weight->gradient.defined()) {
      weight->gradient = std::move(mine);
      continue;
    }
    m_.launch_rows(KernelClass::kPointwise, "add", mine.count(), {&weight->gradient, &mine},
                   {&weight->gradient});
  }
  if (reached.front()->gradient.storage() == sum.storage()) m_.become_gradient(sum);
}

// set_requires_gradient_sync(False): they wait for the last pass in the type in which they are
// summed.
void ShardedTraining::keep_whole_gradients(Group& group) {
  for (Weight& weight : group.weights) {
    if (!weight.leaf || !weight.leaf->gradient.defined()) continue;
    Value& whole = weight.leaf->gradient;
    const DType dtype = part(weight.whole).dtype;
    if (whole.dtype() != dtype) whole = eager::cast(m_, whole, dtype);
  }
  unbind(group);
}

// This device's part of the sum over all that share; that is waited for behind the next unit, and
// then summed over replicas.
Value ShardedTraining::scattered(Value input) {
  Value sum = m_.allocate_in(Stream::kReduce, DType::kInt8,
                             {floor_div(input.count(), plan_.mesh.shards())});
  scattering_ = m_.issue({.kind = CollectiveKind::kReduceScatter,
                          .axis = Axis::kShard,
                          .bytes = input.bytes(),
                          .buffer = input.storage()->id(),
                          .joined = true});
  if (plan_.mesh.extent(Axis::kData) > 1) scattered_ = sum;
  return sum;
}

// The sum over replicas has a stream of its own, which the step waits for behind its backward pass
// (_fsdp_collectives.py, foreach_reduce(): all_reduce_stream; _fsdp_param_group.py,
// finalize_backward()).
void ShardedTraining::end_scatter() {
  if (!scattering_) return;
  m_.await(*std::exchange(scattering_, std::nullopt));
  const Value sum = std::exchange(scattered_, {});
  if (!sum.defined()) return;
  summing_.push_back(
      m_.issue({.axis = Axis::kData, .bytes = sum.bytes(), .buffer = sum.storage()->id()}));
}

void ShardedTraining::after_update() {
  if (plan_.sharded == Sharded::kWeights) return;
  Dim bytes = 0;
  for (const Group& group : groups_) bytes += group.bytes;
  m_.await(m_.issue(
      {.kind = CollectiveKind::kAllGather, .axis = Axis::kShard, .bytes = bytes, .joined = true}));
}

}  // namespace plimsoll::parallel
