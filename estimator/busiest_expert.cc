#include "estimator/busiest_expert.h"

#include <algorithm>

#include "estimator/pipeline.h"
#include "graph/ops/routing.h"

namespace plimsoll {

Result<Estimate> with_all_to_one_expert(Estimate even, Request request, const Hwdb& hwdb,
                                        ModelCache* models) {
  constexpr int64_t kAllTokens = 1 << 20;  // more shares than there are experts
  request.dims[ops::kBusiestExpert] = kAllTokens;
  auto one = estimate_stages(request, hwdb, models);
  if (!one) return one;
  Range& range = even.memory.device_range;
  range.high = std::max(range.high, one->memory.device_range.high);
  even.memory.verdict = verdict_of(range, even.usable_bytes);
  even.basis.push_back(
      "tokens are distributed evenly over experts; the range includes the case that all go to one "
      "expert per layer");
  return even;
}

}  // namespace plimsoll
