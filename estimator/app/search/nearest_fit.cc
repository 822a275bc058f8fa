#include "estimator/app/search/nearest_fit.h"

#include <algorithm>

#include "estimator/request/find_platform.h"

namespace plimsoll {
namespace {

constexpr int64_t kMostTimes = 64, kGpusOfAMachine = 8;
constexpr PlanEffort kLittle{.fastest = 6, .of_a_mesh = 2, .smallest = 4};

const EstimatedPlan* first_that_fits(std::span<const EstimatedPlan> plans) {
  const auto at = std::ranges::find_if(
      plans, [](const EstimatedPlan& e) { return e.priced.verdict == Verdict::kFits; });
  return at == plans.end() ? nullptr : &*at;
}

// So many times the GPUs, by machines where there are several.
std::optional<Request> times(const Request& request, int64_t factor) {
  Request more = request;
  more.gpu_count *= factor;
  if (request.nodes > 1) more.nodes *= factor;
  if (request.nodes == 1 && more.gpu_count > kGpusOfAMachine) return std::nullopt;
  return more;
}

void find_more_gpus(const FailedSearch& failed, NearestFit& nearest) {
  for (int64_t factor = 2; factor <= kMostTimes; factor *= 2) {
    const auto more = times(failed.request, factor);
    if (!more) return;
    const auto platform = find_platform(failed.hwdb, *more, more->devices.front());
    if (!platform) return;
    PlanSpace space = failed.space;
    space.gpus = more->gpu_count;
    space.per_node = more->gpu_count / more->nodes;
    const auto plans = cluster_plans(*more, space);
    PricedPlans search(*more, failed.hwdb, *platform, failed.prices);
    const auto all = search.run(plans, kLittle, failed.threads);
    if (const EstimatedPlan* fits = first_that_fits(all)) {
      nearest.gpus = more->gpu_count;
      nearest.nodes = more->nodes;
      nearest.on_more_gpus = fits->priced;
      return;
    }
  }
}

// Cards with more memory, the smallest first, one of each size.
std::vector<Device> larger_devices(const Hwdb& hwdb, const Platform& platform, int64_t wanted) {
  Diagnostics faults;
  std::vector<Device> devices = hwdb.devices(faults);
  std::erase_if(devices, [&](const Device& d) {
    return d.is_host || d.memory_reported.value < wanted ||
           d.compute_capability < platform.device.compute_capability;
  });
  std::ranges::stable_sort(devices, {}, [](const Device& d) { return d.memory_reported.value; });
  const auto same = [](const Device& a, const Device& b) {
    return a.memory_reported.value == b.memory_reported.value;
  };
  devices.erase(std::unique(devices.begin(), devices.end(), same), devices.end());
  return devices;
}

void find_other_device(const FailedSearch& failed, const PricedPlans::Least& least,
                       NearestFit& nearest) {
  const auto fitting = [&](const Device& device) -> std::optional<PricedPlan> {
    Request other = failed.request;
    other.devices = {device.id};
    other.memory_bytes.reset();
    other.link.clear();
    const auto platform = find_platform(failed.hwdb, other, device.id);
    if (!platform) return std::nullopt;
    const ClusterPlan one[] = {least.plan};
    PricedPlans search(other, failed.hwdb, *platform, failed.prices);
    const auto all = search.run(one, kLittle, 1);
    const EstimatedPlan* fits = first_that_fits(all);
    return fits ? std::optional(fits->priced) : std::nullopt;
  };
  // A plan that fits a card fits larger ones.
  const auto devices = larger_devices(failed.hwdb, failed.platform, least.bytes);
  const auto smallest =
      std::ranges::partition_point(devices, [&](const Device& device) { return !fitting(device); });
  if (smallest == devices.end()) return;
  nearest.device_id = smallest->id;
  nearest.on_other_device = *fitting(*smallest);
}

}  // namespace

NearestFit nearest_fit(const FailedSearch& failed, std::span<const EstimatedPlan> estimated) {
  NearestFit nearest;
  find_more_gpus(failed, nearest);
  std::optional<PricedPlans::Least> least = failed.least;
  if (!estimated.empty()) {
    const auto smallest = std::ranges::min_element(
        estimated, {}, [](const EstimatedPlan& e) { return e.priced.device_bytes; });
    least = {smallest->plan, smallest->priced.device_range.high};
    nearest.plan = smallest->priced;
  } else if (least) {
    nearest.plan.settings = settings_of(least->plan);
  }
  if (!least) return nearest;
  nearest.missing_bytes = std::max<int64_t>(0, least->bytes - failed.platform.usable_bytes);
  find_other_device(failed, *least, nearest);
  return nearest;
}

}  // namespace plimsoll
