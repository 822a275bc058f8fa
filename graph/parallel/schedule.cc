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

// The first backward pass is behind so many forward passes.
int64_t passes_ahead(Schedule schedule, const Stage& at) {
  if (schedule == Schedule::kForwardFirst) return at.micro_batches;
  if (schedule != Schedule::kInterleaved || at.chunks == 1)
    return std::min(at.micro_batches, at.stages - at.stage);
  return std::min(at.micro_batches * at.chunks,
                  2 * (at.stages - at.stage - 1) + (at.chunks - 1) * at.stages + 1);
}

std::vector<Work> by_chunks(const Stage& at) {
  const int64_t all = at.micro_batches * at.chunks;
  const int64_t ahead = passes_ahead(Schedule::kInterleaved, at);
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
  std::vector<Work> order = by_micro_batch(at.micro_batches, passes_ahead(schedule, at));
  if (schedule != Schedule::kZeroBubble || at.stages == 1) return order;
  return weights_later(std::move(order), at.stage);
}

int64_t most_in_flight(Schedule schedule, const Stage& at) {
  const int64_t ahead = passes_ahead(schedule, at);
  if (schedule != Schedule::kZeroBubble || at.stages == 1) return ahead;
  return std::min(at.micro_batches, ahead + at.stage);
}

int64_t distinct_micro_batches(Schedule schedule, int64_t micro_batches) {
  constexpr int64_t kFirstOneLast = 3;
  return schedule == Schedule::kForwardFirst ? std::min(micro_batches, kFirstOneLast)
                                             : micro_batches;
}

Period period_of(Schedule schedule, const Stage& at) {
  if (schedule == Schedule::kForwardFirst) return {};
  if (at.chunks > 1) {
    const int64_t group = at.stages * at.chunks;
    return {.passes = 2 * static_cast<size_t>(group), .micro_batches = at.stages};
  }
  const bool apart = schedule == Schedule::kZeroBubble && at.stages > 1;
  return {.passes = apart ? size_t{3} : size_t{2}, .micro_batches = 1};
}

int64_t periods_after(const std::vector<Work>& order, size_t last, const Period& period) {
  if (period.passes == 0 || last + 1 < period.passes) return 0;
  const size_t first = last + 1 - period.passes;
  if (order[first].pass != Pass::kForward) return 0;
  int64_t batches = 0;
  for (const Work& work : order) batches = std::max(batches, work.micro_batch + 1);
  for (size_t i = first; i <= last; ++i) {
    const bool back = order[i].pass != Pass::kForward;
    if (back && order[i].micro_batch < period.micro_batches) return 0;
  }
  size_t next = last + 1;
  for (; next < order.size(); ++next) {
    Work later = order[next - period.passes];
    later.micro_batch += period.micro_batches;
    const bool ends = later.pass != Pass::kForward && later.micro_batch + 1 == batches;
    if (order[next] != later || ends) break;
  }
  return static_cast<int64_t>((next - last - 1) / period.passes);
}

double bubble_of(Schedule schedule, const Stage& at, double weights) {
  const auto others = static_cast<double>(at.stages - 1);
  const auto batches = static_cast<double>(at.micro_batches);
  if (schedule == Schedule::kInterleaved)
    return others / (batches * static_cast<double>(at.chunks));
  return others / batches * (schedule == Schedule::kZeroBubble ? 1 - 2 * weights : 1);
}

}  // namespace plimsoll::parallel
