#include "estimator/app/explain/workspace_knees.h"

#include <algorithm>
#include <cstdlib>

#include "estimator/estimator.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

// To a thousandth: offsets that precomputed products keep are no trade.
bool same_cost(const WorkspaceKnee& a, const WorkspaceKnee& b) {
  constexpr int64_t kShare = 1000;
  return std::abs(a.step_ns - b.step_ns) <= b.step_ns / kShare &&
         std::abs(a.device_bytes - b.device_bytes) <= b.device_bytes / kShare;
}

}  // namespace

Result<WorkspaceTrade> workspace_knees(const Request& request, const Hwdb& hwdb) {
  constexpr int64_t kLeast = int64_t{64} << 10, kMost = int64_t{16} << 30;
  WorkspaceTrade trade;
  std::vector<WorkspaceKnee>& knees = trade.limits;
  Request at = request;
  for (int64_t limit = 0; limit <= kMost; limit = std::max(kLeast, 2 * limit)) {
    at.workspace_limit = limit;
    const auto e = TRY(estimate(at, hwdb));
    const WorkspaceKnee knee{limit, e.time.step_ns, e.memory.device_bytes, e.memory.workspace_bytes,
                             e.memory.verdict};
    if (knees.empty() || !same_cost(knees.back(), knee)) knees.push_back(knee);
    trade.device_id = e.device_id;
    trade.batch = e.input.batch;
    trade.notes = {
        .request = request, .assumed = e.assumed, .basis = e.basis, .diagnostics = e.diagnostics};
  }
  trade.notes.ranges.emplace_back("workspace-limit", JsonValue{.data = std::string("sweep")});
  trade.notes.request.given.emplace("workspace-limit");
  return trade;
}

}  // namespace plimsoll
