#include "estimator/answer/trace.h"

#include <fmt/format.h>

#include "estimator/model/compiled_model.h"
#include "graph/ir/display_name.h"

namespace plimsoll {

Trace trace_of(const CompiledModel& model, const BoundStep& bound,
               const std::vector<KernelPrice>& prices, int64_t granule,
               std::span<const BufferId> storages) {
  Trace trace;
  const std::vector<BytesByRole> live = profile(model.step, bound, granule, storages);
  int64_t now = 0, since = 0;
  auto repeat = model.step.repeats.begin();
  const auto end_pass = [&] {
    const int64_t more = repeat->times - 1;
    const int64_t all = more * (now - since);
    trace.launches.push_back({.start_ns = now,
                              .duration_ns = all,
                              .kernel = fmt::format("{} more passes alike", more),
                              .node = "",
                              .phase = Phase::kForward});
    now += all;
    ++repeat;
  };
  for (size_t i = 0; i < model.step.events.size(); ++i) {
    if (repeat != model.step.repeats.end() && i == repeat->end) end_pass();
    if (repeat != model.step.repeats.end() && i == repeat->begin) since = now;
    const Event& e = model.step.events[i];
    if (e.kind == Event::Kind::kLaunch) {
      const KernelPrice& price = prices[e.id];
      const std::string& op = bound.kernels[e.id].op;
      trace.launches.push_back(
          {.start_ns = now,
           .duration_ns = price.ns,
           .kernel = price.algorithm.empty() ? op : op + " " + price.algorithm,
           .node = e.node == kNoNode ? std::string() : display_name(model.graph, e.node),
           .phase = e.phase});
      now += price.ns;
      continue;
    }
    const bool same_instant = !trace.samples.empty() && trace.samples.back().at_ns == now;
    // A peak within an instant must not be lost: it is the question.
    if (same_instant && e.kind != Event::Kind::kFree) {
      trace.samples.back().live = live[i];
    } else if (!same_instant || trace.samples.back().live != live[i]) {
      trace.samples.push_back({now, live[i]});
    }
  }
  return trace;
}

}  // namespace plimsoll
