#include "graph/parallel/schedule.h"

#include <algorithm>

namespace plimsoll::parallel {
namespace {

std::vector<Work> by_micro_batch(int64_t micro_batches, int64_t ahead) {
  std::vector<Work> order;
  for (int64_t batch = 0; batch < micro_batches + ahead - 1; ++batch) {
    if (batch < micro_batches) order.push_back({Pass::kForward, batch});
    if (batch + 1 >= ahead) order.push_back({Pass::kBackward, batch + 1 - ahead});
  }
  return order;
}

// The k-th pass in one direction.
Work interleaved(Pass pass, int64_t k, const Stage& at) {
  const int64_t group = at.stages * at.chunks;
  const int64_t chunk = k / at.stages % at.chunks;
  return {.pass = pass,
          .micro_batch = k / group * at.stages + k % at.stages,
          .chunk = pass == Pass::kForward ? chunk : at.chunks - 1 - chunk};
}

std::vector<Work> by_chunks(const Stage& at) {
  const int64_t all = at.micro_batches * at.chunks;
  const int64_t ahead =
      std::min(all, 2 * (at.stages - at.stage - 1) + (at.chunks - 1) * at.stages + 1);
  std::vector<Work> order;
  for (int64_t k = 0; k < all + ahead - 1; ++k) {
    if (k < all) order.push_back(interleaved(Pass::kForward, k, at));
    if (k + 1 >= ahead) order.push_back(interleaved(Pass::kBackward, k + 1 - ahead, at));
  }
  return order;
}

std::vector<Work> weights_later(std::vector<Work> order, int64_t later) {
  std::vector<Work> parted;
  int64_t done = 0, batches = 0;
  for (const Work& work : order) {
    const bool back = work.pass == Pass::kBackward;
    parted.push_back({back ? Pass::kBackwardData : work.pass, work.micro_batch});
    if (!back) continue;
    batches = work.micro_batch + 1;
    if (batches > later) parted.push_back({Pass::kBackwardWeights, done++});
  }
  while (done < batches) parted.push_back({Pass::kBackwardWeights, done++});
  return parted;
}

}  // namespace

std::vector<Work> order_of(Schedule schedule, const Stage& at) {
  if (schedule == Schedule::kInterleaved && at.chunks > 1) return by_chunks(at);
  const bool all = schedule == Schedule::kForwardFirst;
  const int64_t ahead = all ? at.micro_batches : std::min(at.micro_batches, at.stages - at.stage);
  std::vector<Work> order = by_micro_batch(at.micro_batches, ahead);
  if (schedule != Schedule::kZeroBubble || at.stages == 1) return order;
  return weights_later(std::move(order), at.stage);
}

double bubble_of(Schedule schedule, const Stage& at, double weights) {
  const auto others = static_cast<double>(at.stages - 1);
  const auto batches = static_cast<double>(at.micro_batches);
  if (schedule == Schedule::kInterleaved)
    return others / (batches * static_cast<double>(at.chunks));
  return others / batches * (schedule == Schedule::kZeroBubble ? 1 - 2 * weights : 1);
}

}  // namespace plimsoll::parallel
