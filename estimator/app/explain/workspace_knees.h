// The trade of scratch memory against time: what a step takes at each limit of --workspace-limit at
// which convolutions choose otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "estimator/answer/estimate.h"
#include "estimator/request/request.h"
#include "graph/json/fields.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

struct WorkspaceKnee {
  int64_t limit_bytes = 0;
  int64_t step_ns = 0, device_bytes = 0, workspace_bytes = 0;
  Verdict verdict = Verdict::kDoesNotFit;
};

inline void describe(Fields& f, WorkspaceKnee& k) {
  f("limit_bytes", k.limit_bytes, "a power of two, the smallest with this choice");
  f("step_ns", k.step_ns);
  f("device_bytes", k.device_bytes);
  f("workspace_bytes", k.workspace_bytes);
  f("verdict", k.verdict);
}

struct WorkspaceTrade {
  std::string device_id;
  int64_t batch = 0;
  std::vector<WorkspaceKnee> limits;
  AnswerNotes notes;  // of the largest limit
};
inline void describe(Fields& f, WorkspaceTrade& t) {
  f("device_id", t.device_id);
  f("batch", t.batch);
  f("knees", t.limits, {.least = 1});
}

// From no scratch memory to 16 GiB, by powers of two from 64 KiB on: those at which step or peak is
// another than at the one before, by a thousandth or more. Cost: twenty estimates.
Result<WorkspaceTrade> workspace_knees(const Request& request, const Hwdb& hwdb);

}  // namespace plimsoll
