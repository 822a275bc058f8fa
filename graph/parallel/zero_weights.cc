#include "graph/parallel/zero_weights.h"

#include <algorithm>
#include <utility>

#include "graph/eager/update.h"
#include "graph/parallel/zero.h"

namespace plimsoll::parallel {

using eager::GradNode;
using eager::Value;

std::vector<Unit> readers_of_weights(const Graph& graph) {
  std::vector<Unit> units;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const TensorId in : graph.nodes[id].inputs) {
      if (in == kNoTensor || graph.tensors[in].kind != TensorKind::kParameter) continue;
      units.push_back({.module = graph.nodes[id].module, .first = id, .last = id + 1});
      break;
    }
  }
  return units;
}

std::vector<size_t> trace_of(const std::vector<Unit>& units, const std::vector<Unit>& blocks,
                             bool again, int64_t last_back) {
  std::vector<size_t> trace, block_of;  // block_of: by unit; blocks.size() outside of them
  for (size_t i = 0; i < units.size(); ++i) {
    trace.push_back(i);
    const auto at = std::ranges::find_if(blocks, [&](const Unit& block) {
      return units[i].first >= block.first && units[i].last <= block.last;
    });
    block_of.push_back(static_cast<size_t>(at - blocks.begin()));
  }
  for (int64_t time = 1; time < last_back && !units.empty(); ++time)
    trace.push_back(units.size() - 1);
  for (size_t end = units.size(); end > 0;) {
    const size_t block = block_of[end - 1];
    size_t begin = end - 1;
    const bool inside = again && block < blocks.size();
    while (inside && begin > 0 && block_of[begin - 1] == block) --begin;
    for (size_t i = begin; inside && i < end; ++i) trace.push_back(i);
    for (size_t i = end; i > begin; --i) trace.push_back(i - 1);
    end = begin;
  }
  return trace;
}

ZeroWeights::ZeroWeights(eager::Machine& m, const std::vector<Unit>& units, const Unit& around,
                         std::vector<size_t> trace, std::span<const Value> values)
    : UnitObserver(units, around),
      m_(m),
      fetch_(m.recipe().parallel.zero_fetch),
      trace_(std::move(trace)) {
  for (const Unit& unit : units) add(unit, values);
  add(around, values);
  if (m_.recipe().mode == Mode::kInference) {
    trace_.resize(units.size());
    return;
  }
  const DType dtype = m_.recipe().precision->storage;
  bucket_ = m_.resident(dtype, {Dim(m_.recipe().parallel.zero_bucket)}, Role::kTemporary);
  Dim mine = 0;
  for (const auto& leaf : m_.leaves()) mine += leaf->updated ? elements(*leaf->updated) : Dim(0);
  if (!offload().states) {
    part_ = m_.resident(dtype, {mine}, Role::kGradient);
    return;
  }
  m_.keep_on_host(dtype, {mine}, Role::kGradient);
  for (const auto& leaf : m_.leaves()) {
    if (!leaf->updated) continue;
    const TensorType updated = eager::updated_type(m_.recipe(), eager::updated_part(*leaf));
    m_.keep_on_host(updated.dtype, updated.shape, Role::kGradient);
  }
}

void ZeroWeights::add(const Unit& unit, std::span<const Value> values) {
  Group& group = groups_.emplace_back();
  for (const TensorId id : unit.weights) {
    const Value& whole = values[id];
    if (!whole.defined() || !whole.on_device() || whole.storage()->id() != kNoBuffer) continue;
    group.weights.push_back(whole);
    group.count += whole.count();
    group.bytes += whole.bytes();
  }
}

// One weight comes to its own memory, several as one array (all_gather_coalesced()).
void ZeroWeights::begin_gathering(std::vector<size_t> units) {
  const auto gathering = std::make_shared<Gathering>();
  Dim bytes = 0;
  for (const size_t unit : units) {
    Group& group = groups_[unit];
    group.gathering = gathering;
    bytes += group.bytes;
    live_ += group.count;
  }
  gathering->units = std::move(units);
  const int64_t ranks = m_.recipe().parallel.mesh.shards();
  if (ranks == 1) return copy_whole(*gathering, bytes);
  Value part;
  if (offload().parameters) {
    part = m_.allocate_in(Stream::kGather, DType::kInt8, {part_of(bytes, ranks)});
    gathering->arriving.push_back(m_.copy_from_host(part.bytes()));
  }
  const Group& first = groups_[gathering->units.front()];
  const bool single = gathering->units.size() == 1 && first.weights.size() == 1;
  if (single) {
    m_.bind(first.weights.front(), bytes, Stream::kGather);
  } else {
    gathering->buffer = m_.allocate_in(Stream::kGather, DType::kInt8, {bytes});
  }
  const Value& whole = single ? first.weights.front() : gathering->buffer;
  gathering->arriving.push_back(m_.issue({.kind = CollectiveKind::kAllGather,
                                          .axis = Axis::kShard,
                                          .bytes = bytes,
                                          .buffer = whole.storage()->id(),
                                          .joined = true}));
}

// One rank uses what the host has as it is copied, or what is kept (NoGatherHandle).
void ZeroWeights::copy_whole(Gathering& gathering, const Dim& bytes) {
  const bool comes = offload().parameters;
  for (const size_t unit : gathering.units) {
    for (const Value& weight : groups_[unit].weights)
      m_.bind(weight, comes ? weight.bytes() : Dim(0));
  }
  if (comes) gathering.arriving.push_back(m_.copy_from_host(bytes));
}

// All that came together are copied out of the array, in the gathering stream
// (AllGatherCoalescedHandle.wait()).
void ZeroWeights::end_gathering(Group& group) {
  if (!group.gathering) return;
  const std::shared_ptr<Gathering> gathering = group.gathering;
  for (const uint32_t one : gathering->arriving) m_.await(one);
  for (const size_t unit : gathering->units) {
    Group& one = groups_[unit];
    one.gathering = nullptr;
    one.bound = true;
    if (!gathering->buffer.defined()) continue;
    for (const Value& weight : one.weights) m_.bind(weight, weight.bytes(), Stream::kGather);
  }
  if (!gathering->buffer.defined()) return;
  const Value read[] = {gathering->buffer};
  m_.launch_over(KernelClass::kCopy, "cat", 0, read, gathering->buffer);
  gathering->buffer = {};
}

void ZeroWeights::before_unit(size_t unit, Pass /*pass*/) {
  Group& group = groups_[unit];
  if (!group.bound && !group.gathering && !group.weights.empty()) begin_gathering({unit});
  end_gathering(group);
  come_to(unit);
  gather_ahead();
}

void ZeroWeights::come_to(size_t unit) {
  const auto at =
      std::find(trace_.begin() + static_cast<std::ptrdiff_t>(next_), trace_.end(), unit);
  if (at != trace_.end()) next_ = static_cast<size_t>(at - trace_.begin()) + 1;
  ahead_ = std::max(ahead_, next_);
}

void ZeroWeights::gather_ahead() {
  std::vector<size_t> units;
  Dim count = 0;
  const auto wanted = [&] {
    return m_.decider().less(count, Dim(fetch_.prefetch)) &&
           m_.decider().less(live_ + count, Dim(fetch_.live));
  };
  for (; ahead_ < trace_.size() && wanted(); ++ahead_) {
    const Group& group = groups_[trace_[ahead_]];
    const bool there = group.bound || group.gathering || group.weights.empty();
    if (there || std::ranges::find(units, trace_[ahead_]) != units.end()) continue;
    units.push_back(trace_[ahead_]);
    count += group.count;
  }
  if (!units.empty()) begin_gathering(std::move(units));
}

// What several units read stays to the end.
void ZeroWeights::after_unit(size_t unit, Pass pass) {
  const bool goes_back = pass == Pass::kForward && m_.recipe().mode != Mode::kInference;
  if (!(unit == around() && goes_back) && !is_needed_soon(unit)) unbind(groups_[unit]);
}

// Before so many elements of others (__params_to_release()).
bool ZeroWeights::is_needed_soon(size_t unit) const {
  Dim distance = 0;
  for (size_t at = next_; at < trace_.size(); ++at) {
    if (!m_.decider().less(distance, Dim(fetch_.reuse))) return false;
    if (trace_[at] == unit) return true;
    distance += groups_[trace_[at]].count;
  }
  return false;
}

void ZeroWeights::unbind(Group& group) {
  if (!std::exchange(group.bound, false)) return;
  live_ -= group.count;
  for (const Value& weight : group.weights) m_.unbind(weight);
}

void ZeroWeights::begin_backward(bool last) {
  last_ = last;
  filled_ = 0;
  for (const auto& leaf : m_.leaves()) {
    if (leaf->updated) leaf->gradient = {};
  }
  UnitObserver::begin_backward(last);
}

Value ZeroWeights::window_on_bucket(const Dim& count) const {
  return m_.view_of(bucket_, eager::contiguous_layout(bucket_.dtype(), {count}));
}

void ZeroWeights::gradient_ready(GradNode& leaf) {
  if (!leaf.updated || !leaf.gradient.defined()) return;
  const Dim& count = leaf.gradient.count();
  if (!m_.decider().less(filled_ + count, Dim(m_.recipe().parallel.zero_bucket + 1))) reduce();
  filled_ += count;
  in_bucket_.push_back(&leaf);
  if (m_.decider().less(Dim(m_.recipe().parallel.zero_bucket), count)) {
    large_ = std::exchange(leaf.gradient, {});
    return;
  }
  const Value read[] = {leaf.gradient};
  m_.launch_over(KernelClass::kCopy, "copy", 0, read, window_on_bucket(count));
  leaf.gradient = {};
}

// What is sent is joined by rank; parts are added to those that are kept.
void ZeroWeights::reduce() {
  if (filled_ == Dim(0)) return;
  const Value joined = m_.allocate_in(Stream::kReduce, bucket_.dtype(), {filled_});
  const Value read[] = {large_.defined() ? std::exchange(large_, {}) : window_on_bucket(filled_)};
  m_.launch_over(KernelClass::kCopy, "cat", 0, read, joined);
  const Value sent = sent_copy(m_, joined, Stream::kReduce);
  m_.await(m_.issue({.kind = CollectiveKind::kReduceScatter,
                     .axis = Axis::kShard,
                     .bytes = sent.bytes(),
                     .buffer = sent.storage()->id(),
                     .joined = true}));
  filled_ = 0;
  const std::vector<GradNode*> summed = std::exchange(in_bucket_, {});
  if (!offload().states) return;
  for (const GradNode* const leaf : summed) send_to_host(*leaf);
}

void ZeroWeights::send_to_host(const GradNode& leaf) {
  const Shape mine = eager::updated_part(leaf).shape;
  const DType wide = eager::updated_type(m_.recipe(), eager::updated_part(leaf)).dtype;
  const Value sum = m_.allocate_in(Stream::kReduce, bucket_.dtype(), mine);
  leaving_.push_back(m_.copy_to_host(sum.bytes()));
  leaving_.push_back(m_.copy_from_host(sum.bytes()));
  if (!last_) return;
  const Value cast = m_.allocate_in(Stream::kReduce, wide, mine);
  m_.launch_over(KernelClass::kCopy, "cast", 0, {}, cast);
  leaving_.push_back(m_.copy_to_host(cast.bytes()));
}

void ZeroWeights::end_backward() {
  UnitObserver::end_backward();
  reduce();
  for (const uint32_t one : std::exchange(leaving_, {})) m_.await(one);
  for (Group& group : groups_) {
    end_gathering(group);
    unbind(group);
  }
  next_ = ahead_ = 0;
  for (const auto& leaf : m_.leaves()) {
    if (!last_ || !leaf->updated || !leaf->reached) continue;
    const TensorType mine = eager::updated_type(m_.recipe(), eager::updated_part(*leaf));
    leaf->gradient =
        offload().states
            ? m_.host(mine.dtype, mine.shape)
            : m_.view_of(part_, eager::contiguous_layout(part_.dtype(), *leaf->updated));
  }
}

}  // namespace plimsoll::parallel
