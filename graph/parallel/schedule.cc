#include "graph/parallel/schedule.h"

#include <algorithm>

namespace plimsoll::parallel {

std::vector<Work> order_of(Schedule schedule, const Stage& at) {
  const bool all = schedule == Schedule::kForwardFirst;
  const int64_t ahead = all ? at.micro_batches : std::min(at.micro_batches, at.stages - at.stage);
  std::vector<Work> order;
  for (int64_t batch = 0; batch < at.micro_batches + ahead - 1; ++batch) {
    if (batch < at.micro_batches) order.push_back({Pass::kForward, batch});
    if (batch + 1 >= ahead) order.push_back({Pass::kBackward, batch + 1 - ahead});
  }
  return order;
}

}  // namespace plimsoll::parallel
