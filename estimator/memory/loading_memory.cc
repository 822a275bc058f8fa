#include "estimator/memory/loading_memory.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "estimator/model/loaded_weights.h"
#include "graph/base/checked.h"
#include "graph/eager/masters.h"
#include "graph/parallel/kept_parts.h"
#include "graph/parallel/unit.h"

namespace plimsoll {
namespace {

using EventKind = StepEvent::Kind;
using Ids = std::vector<int32_t>;

class WeightLoader {
 public:
  WeightLoader(const CompiledModel& model, const Binding& binding, const ReplayInput& input)
      : model_(model),
        plan_(model.recipe.parallel),
        binding_(binding),
        input_(input),
        claimed_(input.resident.size(), false),
        weights_(loaded_weights(model)) {}

  std::vector<StepEvent> load(WeightLoading how) {
    broadcasts_ = how == WeightLoading::kBroadcast;
    const bool whole = how >= WeightLoading::kWhole;
    if (how == WeightLoading::kFp32) {
      come_wide();
    } else if (whole) {
      for (const TensorId id : weights_.whole) stays(kept_bytes(id));
      for (const TensorId id : weights_.parted) whole_[id] = comes(whole_bytes(id));
    }
    if (how == WeightLoading::kCheckpoint) read_checkpoint();
    part();
    return std::move(events_);
  }

 private:
  const Tensor& tensor(TensorId id) const { return model_.graph.tensors[id]; }

  int64_t at(const Dim& size) const { return size.evaluate(binding_).value_or(0); }

  // As the rank's operators use it.
  Shape used(TensorId id) const {
    const auto placed = model_.placements.computed.find(id);
    return placed == model_.placements.computed.end()
               ? *tensor(id).shape
               : part_of(*tensor(id).shape, placed->second, plan_.mesh);
  }

  DType kept_type(TensorId id) const {
    const bool trained = model_.weight_roles[id] != WeightRole::kFrozen;
    return eager::kept_type(model_.recipe, tensor(id).dtype, trained);
  }

  // Of one that is parted, in the type in which parts are kept.
  int64_t whole_bytes(TensorId id) const {
    const Shape shape = parallel::packed_shape(tensor(id), used(id)).value_or(used(id));
    return at(bytes(kept_type(id), elements(shape)));
  }

  // Of one that the rank has as a whole.
  int64_t kept_bytes(TensorId id) const {
    const Tensor& t = tensor(id);
    if (!t.quantized) return at(bytes(t.dtype, elements(used(id))));
    return at(ceil_div(elements(used(id)) * Dim(t.quantized->bits), Dim(8)) +
              parallel::scale_bytes(*t.quantized, used(id)));
  }

  int32_t comes(int64_t size) {
    events_.push_back({.kind = EventKind::kAllocate, .id = next_, .bytes = size});
    return next_++;
  }

  void goes(int32_t id) { events_.push_back({.kind = EventKind::kFree, .id = id}); }

  void go(const Ids& ids) {
    for (const int32_t id : ids) goes(id);
  }

  void pass(int64_t size) { goes(comes(size)); }

  // The next resident of so many bytes; residents of a size are alike. Of a part that the host
  // keeps there is none.
  void stays(int64_t size) {
    for (size_t i = 0; i < claimed_.size(); ++i) {
      if (claimed_[i] || input_.resident[i] != size) continue;
      claimed_[i] = true;
      events_.push_back({.kind = EventKind::kKept, .id = static_cast<int32_t>(i)});
      return;
    }
  }

  // torch.nn.Module.half() and to(dtype) of a model that is on the card: weight after weight.
  void come_wide() {
    constexpr int64_t kWide = 4;
    std::map<TensorId, int32_t> wide;
    for (const auto* ids : {&weights_.whole, &weights_.parted}) {
      for (const TensorId id : *ids) wide[id] = comes(kWide * at(elements(used(id))));
    }
    for (const TensorId id : weights_.whole) {
      stays(kept_bytes(id));
      goes(wide.at(id));
    }
    for (const TensorId id : weights_.parted) {
      whole_[id] = comes(whole_bytes(id));
      goes(wide.at(id));
    }
  }

  // load_state_dict() copies from what torch.load() has made.
  void read_checkpoint() {
    Ids copies;
    for (const TensorId id : weights_.whole) copies.push_back(comes(kept_bytes(id)));
    for (const TensorId id : weights_.parted) copies.push_back(comes(whole_bytes(id)));
    go(copies);
  }

  // torch/csrc/distributed/c10d/comm.cpp 2.15, broadcast_coalesced(), in buckets of
  // PARAM_BROADCAST_BUCKET_SIZE (torch/distributed/fsdp/_init_utils.py): each is closed by the
  // weight that fills it and is an array unless it is of one weight; two are on their way at once.
  void broadcast(const std::vector<TensorId>& weights) {
    constexpr int64_t kBucket = int64_t{250} << 20;
    std::vector<int64_t> arrays;
    int64_t size = 0, count = 0;
    for (const TensorId id : weights) {
      size += whole_bytes(id);
      ++count;
      if (size < kBucket && id != weights.back()) continue;
      if (count > 1) arrays.push_back(size);
      size = count = 0;
    }
    Ids on_their_way;
    for (const int64_t array : arrays) {
      if (on_their_way.size() == 2) {
        goes(on_their_way.front());
        on_their_way.erase(on_their_way.begin());
      }
      on_their_way.push_back(comes(array));
    }
    go(on_their_way);
  }

  // The whole weights of a unit, which come now unless they are there.
  Ids gathered(const std::vector<TensorId>& weights) {
    Ids ids;
    for (const TensorId id : weights) {
      const auto there = whole_.find(id);
      ids.push_back(there == whole_.end() ? comes(whole_bytes(id)) : there->second);
    }
    return ids;
  }

  int64_t part_bytes(TensorId id) const {
    return at(bytes(kept_type(id), elements(model_.placements.kept.at(id))));
  }

  void part() {
    if (weights_.parted.empty()) return;
    if (plan_.sharded_by == ShardedBy::kFsdp1) return part_flat();
    if (plan_.sharded_by == ShardedBy::kFsdp2) {
      std::vector<parallel::Unit> units = parallel::units_below(model_.graph, "");
      units.push_back(parallel::find_weights(model_.graph, units));
      for (parallel::Unit& unit : units) {
        std::erase_if(unit.weights, [&](TensorId id) {
          return !std::ranges::binary_search(weights_.parted, id);
        });
        part_each(unit.weights);
      }
      return;
    }
    for (const TensorId id : weights_.parted) part_each({id});
  }

  void part_each(const std::vector<TensorId>& weights) {
    const Ids ids = gathered(weights);
    for (const TensorId id : weights) stays(part_bytes(id));
    go(ids);
  }

  void part_flat() {
    const auto units =
        parallel::flat_units(model_.graph, model_.weight_roles, model_.placements.computed, plan_);
    for (const parallel::FlatUnit& unit : units) {
      const DType kept = kept_of(unit);
      const Ids ids = gathered(unit.weights);
      if (broadcasts_) broadcast(unit.weights);
      const int32_t array = comes(at(bytes(kept, unit.parts.whole)));
      stays(at(bytes(kept, unit.parts.part)));
      goes(array);
      go(ids);
    }
    if (plan_.offload.parameters) return;
    for (const parallel::FlatUnit& unit : units) {
      const DType kept = kept_of(unit), dtype = tensor(unit.weights.front()).dtype;
      if (kept != dtype) pass(at(bytes(dtype, unit.parts.part)));
      pass(at(bytes(dtype, unit.parts.whole)));
      if (kept != dtype) pass(at(bytes(kept, unit.parts.whole)));
    }
  }

  DType kept_of(const parallel::FlatUnit& unit) const {
    const bool trained = std::ranges::any_of(
        unit.weights, [&](TensorId id) { return model_.weight_roles[id] != WeightRole::kFrozen; });
    return eager::kept_type(model_.recipe, tensor(unit.weights.front()).dtype, trained);
  }

  const CompiledModel& model_;
  const ParallelPlan& plan_;
  const Binding& binding_;
  const ReplayInput& input_;
  std::vector<bool> claimed_;  // by resident
  LoadedWeights weights_;
  std::map<TensorId, int32_t> whole_;  // of the latter, what is on the card
  std::vector<StepEvent> events_;
  int32_t next_ = 0;
  bool broadcasts_ = false;
};

}  // namespace

std::vector<StepEvent> loading_events(const CompiledModel& model, const Binding& binding,
                                      WeightLoading how, const ReplayInput& input) {
  if (!loads_more(model, how)) return {};
  return WeightLoader(model, binding, input).load(how);
}

int64_t loading_peak(const ReplayInput& input, int64_t rounding) {
  std::map<int32_t, int64_t> sizes;
  int64_t live = 0, peak = 0;
  for (const StepEvent& event : input.loading) {
    if (event.kind == EventKind::kFree) {
      live -= sizes.at(event.id);
      continue;
    }
    const bool stays = event.kind == EventKind::kKept;
    const int64_t size =
        round_up(stays ? input.resident[static_cast<size_t>(event.id)] : event.bytes, rounding);
    if (!stays) sizes[event.id] = size;
    peak = std::max(peak, live += size);
  }
  return peak;
}

void set_loading(WeightLoading how, MemoryEstimate& memory) {
  LoadingMemory& m = *memory.loading;
  const int64_t peak = m.live_peak_bytes;
  m.how = name(how);
  m.step_live_peak_bytes = memory.live_peak_bytes;
  m.step_allocated_peak_bytes = memory.steady_allocated_bytes;
  if (memory.evaluation)
    m.step_allocated_peak_bytes =
        std::max(m.step_allocated_peak_bytes, memory.evaluation->allocated_peak_bytes);
  m.holds_peak = peak > memory.live_peak_bytes;
  if (!m.holds_peak) return;
  constexpr auto kParameters = static_cast<size_t>(Role::kParameter);
  memory.live_peak_bytes = peak;
  memory.peak_node.clear();
  memory.peak_by_role = {};
  memory.peak_by_role[kParameters] = peak;
  memory.max_by_role[kParameters] = std::max(memory.max_by_role[kParameters], peak);
}

}  // namespace plimsoll
