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
                                 const Unit& around, std::span<const Value> values,
                                 const std::map<TensorId, Placement>& computed)
    : UnitObserver(units, around, computes_loss(m.recipe())), m_(m), plan_(m.recipe().parallel) {
  for (size_t i = 0; i <= units.size(); ++i) {
    for (const bool of_experts : {false, true})
      add(i < units.size() ? units[i] : around, values, computed, of_experts);
  }
}

void ShardedTraining::add(const Unit& unit, std::span<const Value> values,
                          const std::map<TensorId, Placement>& computed, bool of_experts) {
  const Placement expert{Axis::kExpert, 0};
  groups_.push_back({.holders = Holders(plan_, of_experts ? std::optional(expert) : std::nullopt)});
  Group& group = groups_.back();
  for (const TensorId id : unit.weights) {
    const Value& whole = values[id];
    const Holders holders(plan_, placement_of(computed, id));
    if (!is_sharded(whole) || holders.of_experts() != of_experts) continue;
    group.weights.push_back({.whole = whole, .leaf = whole.grad()});
    group.bytes += bytes_of_parts(group, whole);
    if (part(group, whole).dtype != whole.dtype()) group.cast += bytes_of_first(group, whole);
  }
}

std::span<ShardedTraining::Group> ShardedTraining::groups_of(size_t unit) {
  return std::span(groups_).subspan(2 * unit, 2);
}

TensorType ShardedTraining::part(const Group& group, const Value& whole) const {
  const Holders& holders = group.holders;
  const TensorType mine{whole.dtype(),
                        part_of(whole.sizes(), holders.cut(whole.sizes()), holders.mesh())};
  return {eager::kept_type(m_.recipe(), mine.dtype, whole.requires_grad()), mine.shape};
}

Dim ShardedTraining::bytes_of_first(const Group& group, const Value& whole) const {
  const Holders& holders = group.holders;
  return bytes(whole.dtype(), elements(largest_part_of(whole.sizes(), holders.cut(whole.sizes()),
                                                       holders.mesh())));
}

Dim ShardedTraining::bytes_of_parts(const Group& group, const Value& whole) const {
  return bytes_of_first(group, whole) * Dim(group.holders.ranks());
}

void ShardedTraining::before_unit(size_t unit, Pass pass) {
  if (plan_.sharded < Sharded::kWeights) return;
  for (Group& group : groups_of(unit)) {
    if (group.bound || group.weights.empty()) continue;
    gather(group);
    end_gathering(group);
    last_buffer_ = {};
    copy_out(group);
    Value buffer = std::exchange(group.buffer, {});
    if (pass == Pass::kForward) last_buffer_ = std::move(buffer);
  }
  if (pass == Pass::kForward) {
    if (const size_t next = after(unit); next < around()) gather_ahead(next);
  } else if (unit > 0) {
    for (Group& group : groups_of(unit - 1)) gather(group);
  }
}

// In a forward pass: what is asked for has memory at once, what the host runs ahead to where it
// comes to the unit.
void ShardedTraining::gather_ahead(size_t unit) {
  const bool asked = plan_.mesh.extent(Axis::kExpert) > 1;
  for (Group& group : groups_of(unit)) asked ? gather(group) : begin_gathering(group);
}

// What goes forward last is summed first.
void ShardedTraining::after_unit(size_t unit, Pass pass) {
  const std::span<Group> groups = groups_of(unit);
  if (pass == Pass::kForward) {
    if (unit == around()) {
      last_buffer_ = {};
    } else if (!plan_.keeps_gathered) {
      for (Group& group : groups) unbind(group);
    }
    return;
  }
  bool waited = false;
  for (size_t i = groups.size(); i-- > 0;) waited = scatter_gradients(groups[i], waited) || waited;
}

// Unless that has begun, or the unit is there.
void ShardedTraining::begin_gathering(Group& group) {
  if (group.bound || !group.gathering.empty() || group.weights.empty()) return;
  if (group.holders.ranks() == 1) return;
  if (is_offloaded()) group.gathering.push_back(m_.copy_from_host(bytes_of_kept(group)));
  const BufferId buffer = group.buffer.defined() ? group.buffer.storage()->id() : kNoBuffer;
  for (Collective& one : group.holders.exchanges(CollectiveKind::kAllGather, group.bytes, buffer))
    group.gathering.push_back(m_.issue(std::move(one)));
}

// A rank that has nobody to ask copies its own.
void ShardedTraining::gather(Group& group) {
  const bool asks = group.holders.ranks() > 1 && !group.weights.empty();
  if (group.bound || group.buffer.defined() || !asks) return;
  std::vector<Value> mine;
  if (is_offloaded()) {
    for (const Weight& weight : group.weights)
      mine.push_back(brought(group, weight.whole, Stream::kGather));
  } else if (group.cast != Dim(0)) {
    mine.push_back(m_.allocate_in(Stream::kGather, DType::kInt8, {group.cast}));
  }
  group.buffer = m_.allocate_in(Stream::kGather, DType::kInt8, {group.bytes});
  mine.clear();
  begin_gathering(group);
}

Value ShardedTraining::brought(const Group& group, const Value& whole, Stream stream) {
  const DType kept = part(group, whole).dtype;
  const Dim bytes = bytes_of_first(group, whole);
  const Dim count = floor_div(bytes * Dim(8), bits(whole.dtype()));
  Value mine = m_.allocate_in(stream, kept, {count});
  return kept == whole.dtype() ? mine : m_.allocate_in(stream, DType::kInt8, {bytes});
}

// What this device's parts of a unit take in the host's memory.
Dim ShardedTraining::bytes_of_kept(const Group& group) const {
  Dim sum = 0;
  for (const Weight& weight : group.weights) {
    const int64_t kept = bits(part(group, weight.whole).dtype);
    sum += floor_div(bytes_of_first(group, weight.whole) * Dim(kept), bits(weight.whole.dtype()));
  }
  return sum;
}

void ShardedTraining::end_gathering(Group& group) {
  for (const uint32_t collective : std::exchange(group.gathering, {})) m_.await(collective);
}

// What was not cut along its first dimension comes in another order, and is put together from a
// copy
// (_fsdp_collectives.py, _reassemble_all_gather_outputs()).
void ShardedTraining::copy_out(Group& group) {
  if (is_offloaded() && group.holders.ranks() == 1) return copy_directly(group);
  std::vector<Value> apart;
  for (const Weight& weight : group.weights) {
    const Dim bytes = bytes_of_parts(group, weight.whole);
    m_.bind(weight.whole, bytes);
    if (is_cut_inside(group, weight.whole)) apart.push_back(m_.allocate(DType::kInt8, {bytes}));
  }
  const Value& from = group.buffer.defined() ? group.buffer : group.weights.front().whole;
  const Value read[] = {from};
  m_.launch_over(KernelClass::kCopy, "cat", 0, read, from);
  for (const Value& copy : apart) {
    const Value parts[] = {copy};
    m_.launch_over(KernelClass::kCopy, "cat", 0, parts, copy);
  }
  group.bound = true;
}

// In the kernels' own stream; the name of one weight's copy is the next one's
// (_fsdp_param_group.py, wait_for_unshard()).
void ShardedTraining::copy_directly(Group& group) {
  m_.await(m_.copy_from_host(bytes_of_kept(group)));
  Value mine;
  for (const Weight& weight : group.weights) {
    mine = brought(group, weight.whole, Stream::kCompute);
    m_.bind(weight.whole, bytes_of_parts(group, weight.whole));
    const Value read[] = {mine};
    m_.launch_over(KernelClass::kCopy, "copy", 0, read, weight.whole);
  }
  group.bound = true;
}

bool ShardedTraining::is_cut_inside(const Group& group, const Value& whole) const {
  return group.holders.ranks() > 1 && group.holders.cut(whole.sizes()) != kShardPart;
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
      const bool is_part =
          weight.leaf->gradient.count() == elements(part(group, weight.whole).shape);
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
  for (const uint32_t gradient : std::exchange(leaving_, {})) m_.await(gradient);
  for (Group& group : groups_) {
    // What another chunk's forward pass is to read goes on.
    const bool ahead = !group.gathering.empty() && !group.buffer.defined() && !last_;
    if (!ahead) end_gathering(group);
    group.buffer = {};
    unbind(group);
    for (Weight& weight : group.weights) {
      if (last_ && weight.gradient.defined())
        weight.leaf->gradient = std::exchange(weight.gradient, {});
    }
  }
}

// Whole gradients are copied to one buffer, whose sum over the devices is scattered; the weights go
// before it is there. The buffers of the unit before go first, unless they were waited for; says
// whether they were now.
bool ShardedTraining::scatter_gradients(Group& group, bool waited) {
  if (plan_.exchanges_last && !last_) {
    keep_whole_gradients(group);
    return false;
  }
  std::vector<Weight*> reached;
  std::vector<Value> gradients;
  Dim count = 0, kept = 0;  // bytes of all parts as they are sent, of this device's as it is kept
  for (Weight& weight : group.weights) {
    if (!weight.leaf || !weight.leaf->gradient.defined()) continue;
    reached.push_back(&weight);
    const DType mine = part(group, weight.whole).dtype;
    const auto as = [&](DType dtype, const Dim& bytes) {
      return floor_div(bytes * Dim(int64_t{bits(dtype)}), bits(weight.whole.dtype()));
    };
    count += as(sent_type(plan_, mine), bytes_of_parts(group, weight.whole));
    kept += as(mine, bytes_of_first(group, weight.whole));
    if (plan_.sharded >= Sharded::kGradients)
      gradients.push_back(std::exchange(weight.leaf->gradient, {}));
  }
  unbind(group);
  if (gradients.empty()) return false;
  if (!waited) end_scatter();
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (is_cut_inside(group, reached[i]->whole)) gradients[i] = by_rank(gradients[i]);
  }
  Value input = m_.allocate(DType::kInt8, {count});
  m_.launch_over(KernelClass::kCopy, "cat", 0, gradients, input);
  gradients.clear();
  Value sum = scattered(group, std::move(input));
  if (plan_.reduce_type && sum.count() != kept) {  // foreach_reduce(), _to_dtype_if_needed()
    const Value read[] = {sum};
    Value cast = m_.allocate_in(Stream::kReduce, DType::kInt8, {kept});
    m_.launch_over(KernelClass::kCopy, "cast", 0, read, cast);
    sum = std::move(cast);
  }
  for (Weight* weight : reached) add_part(group, *weight, sum);
  if (reached.front()->gradient.storage() == sum.storage()) m_.become_gradient(sum);
  return true;
}

// A copy in the order of the ranks whose parts follow each other
// (_default_reduce_scatter_input_fn()).
Value ShardedTraining::by_rank(const Value& gradient) {
  Value copy = m_.allocate(gradient.dtype(), gradient.sizes());
  const Value read[] = {gradient};
  m_.launch_over(KernelClass::kCopy, "cat", 0, read, copy);
  return copy;
}

void ShardedTraining::add_part(const Group& group, Weight& weight, const Value& sum) {
  const TensorType mine_of = part(group, weight.whole);
  if (is_offloaded()) return add_on_host(weight, mine_of);
  Value mine = m_.view_of(sum, eager::contiguous_layout(mine_of.dtype, mine_of.shape));
  if (!weight.gradient.defined()) {
    weight.gradient = std::move(mine);
    return;
  }
  m_.launch_rows(KernelClass::kPointwise, "add", mine.count(), {&weight.gradient, &mine},
                 {&weight.gradient});
}

// Copies beside the kernels, but where the host has something to add to.
void ShardedTraining::add_on_host(Weight& weight, const TensorType& mine) {
  const uint32_t copy = m_.copy_to_host(bytes(mine));
  if (!weight.gradient.defined()) {
    weight.gradient = m_.host(mine.dtype, mine.shape);
    leaving_.push_back(copy);
    return;
  }
  m_.await(copy);
  m_.await(m_.work_on_host(bytes(mine) * Dim(3)));
}

// set_requires_gradient_sync(False): they wait for the last pass in the type in which they are
// summed.
void ShardedTraining::keep_whole_gradients(Group& group) {
  for (Weight& weight : group.weights) {
    if (!weight.leaf || !weight.leaf->gradient.defined()) continue;
    Value& whole = weight.leaf->gradient;
    const DType dtype = sent_type(plan_, part(group, weight.whole).dtype);
    if (whole.dtype() != dtype) whole = eager::cast(m_, whole, dtype);
  }
  unbind(group);
}

// This device's part of the sum over all that share; that is waited for behind the next unit, so
// long what is sent stays, and then it is summed over replicas.
Value ShardedTraining::scattered(const Group& group, Value input) {
  Value sum = m_.allocate_in(Stream::kReduce, DType::kInt8,
                             {floor_div(input.count(), group.holders.ranks())});
  for (Collective& one : group.holders.exchanges(CollectiveKind::kReduceScatter, input.bytes(),
                                                 input.storage()->id()))
    scattering_.push_back(m_.issue(std::move(one)));
  sent_.push_back(std::move(input));
  if (plan_.mesh.extent(Axis::kData) > 1) scattered_.push_back(sum);
  return sum;
}

// The sum over replicas has a stream of its own, which the step waits for behind its backward pass
// (_fsdp_collectives.py, foreach_reduce(): all_reduce_stream; _fsdp_param_group.py,
// finalize_backward()).
void ShardedTraining::end_scatter() {
  for (const uint32_t one : std::exchange(scattering_, {})) m_.await(one);
  sent_.clear();
  for (const Value& sum : std::exchange(scattered_, {}))
    summing_.push_back(
        m_.issue({.axis = Axis::kData, .bytes = sum.bytes(), .buffer = sum.storage()->id()}));
}

void ShardedTraining::after_update() {
  if (plan_.sharded == Sharded::kWeights) return;
  for (const bool of_experts : {false, true}) {
    Dim bytes = 0;
    const Group* among = nullptr;
    for (const Group& group : groups_) {
      if (group.holders.of_experts() != of_experts) continue;
      bytes += group.bytes;
      among = &group;
    }
    if (!among || bytes == Dim(0)) continue;
    for (Collective& one : among->holders.exchanges(CollectiveKind::kAllGather, bytes, kNoBuffer))
      m_.await(m_.issue(std::move(one)));
  }
}

}  // namespace plimsoll::parallel
