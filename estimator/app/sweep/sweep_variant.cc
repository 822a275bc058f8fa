#include "estimator/app/sweep/sweep_variant.h"

#include <algorithm>
#include <utility>

#include "estimator/request/find_platform.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

constexpr std::string_view kRefusedPlan = "E120";

Result<SweepVariant> variant_of(size_t index, Request request, Platform platform) {
  auto evaluator = TRY(Evaluator::make(std::move(platform), request));
  return SweepVariant{
      .index = index, .request = std::move(request), .evaluator = std::move(evaluator)};
}

}  // namespace

bool is_of_one_point(const Diagnostics& why) {
  constexpr int kOfModel = 3;
  return exit_status(why) == kOfModel ||
         (!why.empty() &&
          std::ranges::all_of(why, [](const Diagnostic& d) { return d.code == kRefusedPlan; }));
}

Result<std::vector<SweepVariant>> variants_of(size_t index, const Request& request,
                                              const Hwdb& hwdb) {
  std::vector<SweepVariant> variants;
  auto platform = find_platform(hwdb, request, request.devices.front());
  if (!platform) {
    if (!is_of_one_point(platform.error())) return tl::make_unexpected(platform.error());
    variants.push_back(
        {.index = index, .request = request, .refusal = std::move(platform.error())});
    return variants;
  }
  const Mesh mesh = platform->parallel.mesh;
  if (mesh.extent(Axis::kStage) == 1 || request.given.contains("rank")) {
    variants.push_back(TRY(variant_of(index, request, std::move(*platform))));
    return variants;
  }
  for (const int64_t rank : ranks_of_stages(mesh)) {
    Request one = request;
    one.parallel.rank = rank;
    auto there = TRY(find_platform(hwdb, one, one.devices.front()));
    variants.push_back(TRY(variant_of(index, std::move(one), std::move(there))));
    variants.back().further = variants.size() > 1;
  }
  return variants;
}

void add_stage(const SweepPoint& stage, SweepPoint& all) {
  all.waits.bubble_ns.push_back(stage.waits.bubble_ns.empty() ? 0 : stage.waits.bubble_ns.front());
  if (all.failure) return;
  if (stage.failure) all.failure = stage.failure;
  if (stage.device_bytes > all.device_bytes) {
    all.device_bytes = stage.device_bytes;
    all.device_range_bytes = stage.device_range_bytes;
    all.fits = stage.fits;
    all.verdict = stage.verdict;
  }
  if (stage.step_ns > all.step_ns) {
    all.step_ns = stage.step_ns;
    all.step_range_ns = stage.step_range_ns;
    all.samples_per_second = stage.samples_per_second;
    all.run_ns = stage.run_ns;
    all.host_bound = stage.host_bound;
    all.waits.slowest = all.waits.bubble_ns.size() - 1;
  }
}

void join_stages(int64_t stages, SweepPoint& all) {
  const StageWaits waits = std::exchange(all.waits, {});
  if (all.failure || waits.bubble_ns.size() < 2) return;
  TimeEstimate time;
  time.step_ns = all.step_ns;
  time.step_range_ns = all.step_range_ns;
  time.bubble_ns = waits.bubble_ns[waits.slowest];
  time.samples_per_second = all.samples_per_second;
  time.run_ns = all.run_ns;
  wait_for_others(waits.other_stages(stages), time);
  all.step_ns = time.step_ns;
  all.step_range_ns = time.step_range_ns;
  all.samples_per_second = time.samples_per_second;
  all.run_ns = time.run_ns;
}

}  // namespace plimsoll
