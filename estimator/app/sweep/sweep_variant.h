// SweepVariant: one request of a sweep, ready for its points; of a pipeline each of its
// stages that may need most or take longest.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "estimator/app/sweep/sweep_point.h"
#include "estimator/evaluator.h"
#include "estimator/request/request.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

struct SweepVariant {
  size_t index = 0;  // of the sweep's variants
  Request request;
  bool further = false;                  // a stage behind the first one
  std::optional<Evaluator> evaluator{};  // nothing where the plan is refused
  Diagnostics refusal{};
};

// Whether an answer of a sweep fails by itself, and the others go on: what the model says of a
// point, or a plan that the GPUs or the model do not allow (E120).
bool is_of_one_point(const Diagnostics& why);

// One, or one for each rank of ranks_of_stages(). Errors as find_platform(), but of E120, which is
// the variant's refusal.
Result<std::vector<SweepVariant>> variants_of(size_t index, const Request& request,
                                              const Hwdb& hwdb);

// A stage's answer into that of those before it, as estimate_stages() has it: the memory of the
// stage that needs most, the time of the slowest.
void add_stage(const SweepPoint& stage, SweepPoint& all);
// When all of them are added: what the slowest of so many stages waits for the others.
void join_stages(int64_t stages, SweepPoint& all);

}  // namespace plimsoll
