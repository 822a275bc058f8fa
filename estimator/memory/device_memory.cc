#include "estimator/memory/device_memory.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "graph/base/try.h"

namespace plimsoll {
namespace {

using StepKind = StepEvent::Kind;

// Events of a step or of a pass, with what of it is there.
struct PassMemory {
  PassMemory(const std::vector<StepEvent>& of, const std::vector<WorkspaceUse>& with)
      : events(of), workspaces(with), ids(of.size(), -1), timed(with.size(), false) {}
  const std::vector<StepEvent>& events;
  const std::vector<WorkspaceUse>& workspaces;
  std::vector<int32_t> ids;  // by tensor: in the program; below 0: none
  std::vector<bool> timed;
};

class Program {
 public:
  explicit Program(const ReplayInput& input)
      : input_(input), step_(input.step, input.workspaces), kept_(input.kept.size(), false) {}

  Result<Events> write() {
    TRY(check(step_));
    events_.reserve(input_.resident.size() +
                    2 * static_cast<size_t>(input_.steps) * step_.ids.size());
    TRY(load_weights());
    for (int step = 0; step < input_.steps; ++step) TRY(run(step));
    if (input_.between) {
      TRY(run_between(*input_.between));
      TRY(run(input_.steps));
    }
    return std::move(events_);
  }

 private:
  Result<void> load_weights() {
    std::vector<bool> there(input_.resident.size(), false);
    std::vector<int32_t> ids(input_.loading.size(), -1);
    for (const StepEvent& event : input_.loading) {
      const auto id = static_cast<size_t>(event.id);
      if (id >= (event.kind == StepKind::kKept ? there.size() : ids.size()))
        return error("E902", "loading event id " + std::to_string(event.id) + " is out of range");
      if (event.kind == StepKind::kAllocate) ids[id] = born(event.bytes, event.stream);
      if (event.kind == StepKind::kFree) dies(ids[id]);
      if (event.kind != StepKind::kKept || there[id]) continue;
      born(input_.resident[id], event.stream);
      there[id] = true;
    }
    if (!input_.loading.empty()) events_.push_back(mark());
    if (input_.loading_empties_cache) events_.push_back(empty_cache());
    for (size_t i = 0; i < there.size(); ++i) {
      if (!there[i]) born(input_.resident[i], 0);
    }
    return {};
  }

  Result<void> run(int step) {
    load(step);
    if (step == 0) pass_at_first();
    for (const StepEvent& event : step_.events) {
      // In step 0 nothing lives on from a step before.
      const bool frees = event.kind == StepKind::kFree;
      if (frees && step > 0 && step_.ids[static_cast<size_t>(event.id)] < 0)
        return error("E902", "tensor " + std::to_string(event.id) + " is freed but not allocated");
      add(event, step_, step);
    }
    events_.push_back(mark());
    return {};
  }

  // Hugging Face's Trainer.evaluation_loop() (transformers/trainer.py 5.24) and its
  // EvalLoopContainer: a name holds the outputs of the pass before, and those of all passes are
  // joined anew behind each. Of many passes the last two are written down: what others joined is
  // free again, and given back where memory is short.
  Result<void> run_between(const PassesBetween& between) {
    constexpr int64_t kPasses = 2;
    PassMemory pass(between.events, between.workspaces);
    TRY(check(pass));
    std::vector<int32_t> batch, left;
    int32_t named = -1, joined = -1;
    for (const int64_t bytes : between.left) left.push_back(born(bytes, 0));
    int64_t passes = std::max<int64_t>(0, between.gathered - kPasses);
    if (passes > 0) joined = born(passes * between.outputs, 0);
    for (int64_t i = 0; i < kPasses; ++i) {
      std::vector<int32_t> next;
      for (const int64_t bytes : between.inputs) next.push_back(born(bytes, input_.loader_stream));
      for (const int32_t id : std::exchange(batch, std::move(next))) dies(id);
      for (const StepEvent& event : pass.events) add(event, pass, input_.steps);
      if (named >= 0) dies(std::exchange(named, -1));
      if (between.gathered > 0) named = born(between.outputs, 0);
      // The first of all is not joined with any; of one alone nothing is left behind its pass.
      if (between.gathered == 1) dies(std::exchange(named, -1));
      if (between.gathered > 1 && ++passes == 1) joined = std::exchange(named, -1);
      if (passes > 1) dies(std::exchange(joined, born(passes * between.outputs, 0)));
    }
    for (const int32_t id : {named, joined}) {
      if (id >= 0) dies(id);
    }
    for (const auto* ids : {&batch, &left}) {
      for (const int32_t id : *ids) dies(id);
    }
    events_.push_back(mark());
    return {};
  }

  // Events are written where they stand: copied, they would wait for their own writes.
  int32_t born(int64_t bytes, uint16_t stream, int64_t least = AllocatorEvent::kRequired) {
    AllocatorEvent& event = events_.emplace_back();
    event.stream = stream;
    event.id = next_id_;
    event.bytes = bytes;
    event.least = least;
    return next_id_++;
  }

  void dies(int32_t id) {
    AllocatorEvent& event = events_.emplace_back();
    event.kind = AllocatorEvent::Kind::kFree;
    event.id = id;
  }

  // Every id of the step has something that it stands for.
  Result<void> check(const PassMemory& pass) const {
    for (const StepEvent& event : pass.events) {
      const size_t limit = event.kind == StepKind::kWorkspace ? pass.workspaces.size()
                           : event.kind == StepKind::kKept    ? input_.kept.size()
                                                              : pass.events.size();
      if (event.kind != StepKind::kUpdate && static_cast<size_t>(event.id) >= limit) {
        return error("E902", "step event id " + std::to_string(event.id) + " is out of range");
      }
    }
    return {};
  }

  // New batches arrive before the last step's one dies.
  void load(int step) {
    while (loaded_ <= step + input_.prefetch) {
      std::vector<int32_t> staged;
      for (const int64_t bytes : input_.staging)
        staged.push_back(born(bytes, input_.loader_stream));
      auto& batch = batches_.emplace_back();
      for (const int64_t bytes : input_.inputs) batch.push_back(born(bytes, input_.loader_stream));
      for (const int32_t id : staged) dies(id);
      ++loaded_;
    }
    if (step == 0) return;
    for (const int32_t id : batches_[static_cast<size_t>(step - 1)]) dies(id);
  }

  void add(const StepEvent& event, PassMemory& pass, int step) {
    const auto id = static_cast<size_t>(event.id);
    switch (event.kind) {
      case StepKind::kAllocate:
        pass.ids[id] = born(event.bytes, event.stream);
        break;
      case StepKind::kFree:
        if (pass.ids[id] >= 0) dies(pass.ids[id]);
        pass.ids[id] = -1;
        break;
      case StepKind::kWorkspace:
        use(id, pass, event.stream);
        break;
      case StepKind::kKept:
        if (!kept_[id]) born(input_.kept[id], event.stream);
        kept_[id] = true;
        break;
      case StepKind::kUpdate:
        update(step);
        break;
    }
  }

  void use(size_t problem, PassMemory& pass, uint16_t stream) {
    const WorkspaceUse& use = pass.workspaces[problem];
    if (use.largest > 0 && !pass.timed[problem]) {
      for (const int64_t bytes : use.tried) scratch(bytes, 0, stream);
      if (use.tried.empty()) scratch(use.largest, 0, stream);
      if (input_.timing_empties_cache) events_.push_back(empty_cache());
      pass.timed[problem] = true;
    }
    scratch(use.bytes, std::min(use.least, use.bytes), stream);
  }

  void scratch(int64_t bytes, int64_t least, uint16_t stream) {
    if (bytes == 0) return;
    dies(born(bytes, stream, least));
  }

  void pass_at_first() {
    for (const StepEvent& event : input_.at_first)
      scratch(event.bytes, AllocatorEvent::kRequired, event.stream);
  }

  void update(int step) {
    if (step > 0) return;
    for (const int64_t bytes : input_.optimizer_state) born(bytes, 0);
  }

  const ReplayInput& input_;
  PassMemory step_;
  Events events_;
  int32_t next_id_ = 0;
  int loaded_ = 0;
  std::vector<std::vector<int32_t>> batches_;
  std::vector<bool> kept_;
};

double half_width(const MemoryEstimate& memory, int64_t largest_workspace, const RangeRule& rule) {
  const auto device = static_cast<double>(memory.device_bytes);
  if (rule.spread > 0) return rule.spread * static_cast<double>(memory.reserved_bytes);
  if (largest_workspace == 0) return rule.plain_share * device;
  return rule.scale * (rule.share * device + static_cast<double>(largest_workspace));
}

// Of those that a choice of algorithms is behind.
int64_t largest_chosen(const std::vector<WorkspaceUse>& workspaces) {
  int64_t largest = 0;
  for (const WorkspaceUse& use : workspaces) {
    if (!use.exact) largest = std::max(largest, use.bytes);
  }
  return largest;
}

// The context and what the allocator does err independently: their widths add as squares. `live`:
// peak of what was asked for.
Range range_of(const MemoryEstimate& memory, int64_t live, int64_t largest_workspace,
               const Context& context, const RangeRule& rule) {
  const double half = half_width(memory, largest_workspace, rule);
  const auto reach = [&](int64_t of_context) {
    return static_cast<int64_t>(std::llround(std::hypot(half, static_cast<double>(of_context))));
  };
  const int64_t below = context.low > 0 ? context.bytes - context.low : 0;
  const int64_t above = context.high > 0 ? context.high - context.bytes : 0;
  int64_t low = memory.device_bytes - reach(below);
  // What was asked for is certain: the allocator cannot hold less.
  if (rule.spread == 0) low = std::max(low, context.bytes - below + live - largest_workspace);
  return {std::clamp<int64_t>(low, 0, memory.device_bytes), memory.device_bytes + reach(above)};
}

}  // namespace

Result<Events> replay_events(const ReplayInput& input) { return Program(input).write(); }

namespace {

Result<Replay> replayed_within(const Events& events, const AllocatorRules& rules,
                               int64_t capacity) {
  auto replayed = capacity > 0 ? replay(events, rules, capacity) : replay(events, rules);
  // What does not fit is told without the limit.
  if (replayed && replayed->out_of_memory) replayed = replay(events, rules);
  return replayed;
}

}  // namespace

Result<MemoryEstimate> device_memory(const ReplayInput& input, const AllocatorRules& rules,
                                     const Context& context, const RangeRule& range,
                                     bool with_minimum, LastReplay* last) {
  const bool known = last && last->replay && last->input == input;
  const auto events = TRY(known && !with_minimum ? Events() : replay_events(input));
  auto replayed =
      TRY(known ? Result<Replay>(*last->replay) : replayed_within(events, rules, input.capacity));
  if (last && !known) *last = {input, replayed};
  MemoryEstimate memory;
  memory.context_bytes = context.bytes;
  memory.steady_allocated_bytes =
      replayed.marks.empty() ? replayed.allocated_peak : replayed.marks.back().allocated_peak;
  memory.reserved_bytes = replayed.reserved_peak;
  memory.allocated_peak_bytes = replayed.allocated_peak;
  int64_t live = replayed.requested_peak;
  if (!input.loading.empty()) {
    LoadingMemory& loading = memory.loading.emplace();
    loading.allocated_peak_bytes = replayed.marks.front().allocated_peak;
    loading.reserved_bytes = replayed.marks.front().reserved;
  }
  if (input.between) {
    const AllocatorState& last_pass = replayed.marks.rbegin()[1];
    memory.evaluation.emplace().allocated_peak_bytes = last_pass.allocated_peak;
  }
  const bool timed = std::ranges::any_of(input.workspaces, &WorkspaceUse::largest);
  if (timed && input.timing_empties_cache) {
    memory.timing_peak_bytes = memory.allocated_peak_bytes;
    memory.reserved_bytes = replayed.reserved_end;
    memory.allocated_peak_bytes = memory.steady_allocated_bytes;
    if (memory.evaluation)
      memory.allocated_peak_bytes =
          std::max(memory.allocated_peak_bytes, memory.evaluation->allocated_peak_bytes);
    if (memory.loading)
      memory.allocated_peak_bytes =
          std::max(memory.allocated_peak_bytes, memory.loading->allocated_peak_bytes);
    live = std::min(live, memory.allocated_peak_bytes);
  }
  memory.device_bytes = context.bytes + memory.reserved_bytes;
  memory.device_range = range_of(memory, live, largest_chosen(input.workspaces), context, range);
  if (with_minimum) {
    constexpr int64_t kGranule = 2 << 20;  // what drivers hand out
    const auto least = TRY(minimum_capacity(events, rules, kGranule, &replayed));
    // Where timing plans empties the cache, a first step may pass through more than what stays; the
    // point, by which a process fits, is what stays.
    memory.minimum_bytes = std::min(context.bytes + least, memory.device_bytes);
  }
  return memory;
}

}  // namespace plimsoll
