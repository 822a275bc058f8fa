#include "estimator/answer/mean.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace plimsoll {
namespace {

// What the steps' times are taken together with.
class Mean {
 public:
  Mean(const std::vector<Estimate>& estimates, const std::vector<LengthBucket>& buckets)
      : estimates_(estimates) {
    double total = 0;
    for (const LengthBucket& bucket : buckets) total += bucket.share;
    for (const LengthBucket& bucket : buckets) shares_.push_back(bucket.share / total);
  }

  double share(size_t i) const { return shares_[i]; }

  // Of one figure of a step, by how many steps there are.
  template <class Figure>
  double of(Figure figure) const {
    double sum = 0;
    for (size_t i = 0; i < shares_.size(); ++i) {
      sum += shares_[i] * static_cast<double>(std::invoke(figure, estimates_[i].time));
    }
    return sum;
  }
  int64_t whole(int64_t TimeEstimate::*figure) const {
    return static_cast<int64_t>(std::llround(of(figure)));
  }
  // Of a ratio whose denominator is `weight`.
  double ratio(double TimeEstimate::*figure, int64_t TimeEstimate::*weight) const {
    const double all = of(weight);
    const auto weighted = [&](const TimeEstimate& t) {
      return t.*figure * static_cast<double>(t.*weight);
    };
    return all > 0 ? of(weighted) / all : 0;
  }

 private:
  const std::vector<Estimate>& estimates_;
  std::vector<double> shares_;
};

TimeEstimate mean_time(const Mean& mean, const TimeEstimate& nearest) {
  TimeEstimate t = nearest;
  t.lanes.reset();  // of one step, not of a mean
  for (const auto figure :
       {&TimeEstimate::step_ns, &TimeEstimate::forward_ns, &TimeEstimate::backward_ns,
        &TimeEstimate::update_ns, &TimeEstimate::communication_ns, &TimeEstimate::host_wait_ns,
        &TimeEstimate::offload_ns, &TimeEstimate::input_copy_ns, &TimeEstimate::gpu_ns,
        &TimeEstimate::host_ns, &TimeEstimate::framework_ns, &TimeEstimate::loader_ns,
        &TimeEstimate::loading_ns, &TimeEstimate::pcie_bytes, &TimeEstimate::launches,
        &TimeEstimate::dispatches, &TimeEstimate::forward_dispatches}) {
    t.*figure = mean.whole(figure);
  }
  const auto rounded = [&](auto figure) {
    return static_cast<int64_t>(std::llround(mean.of(figure)));
  };
  t.step_range_ns = {rounded([](const TimeEstimate& x) { return x.step_range_ns.low; }),
                     rounded([](const TimeEstimate& x) { return x.step_range_ns.high; })};
  t.gpu_busy = mean.ratio(&TimeEstimate::gpu_busy, &TimeEstimate::step_ns);
  t.cpu_utilisation = mean.ratio(&TimeEstimate::cpu_utilisation, &TimeEstimate::step_ns);
  t.fp32_utilisation = mean.ratio(&TimeEstimate::fp32_utilisation, &TimeEstimate::gpu_ns);
  t.samples_per_second = mean.ratio(&TimeEstimate::samples_per_second, &TimeEstimate::step_ns);
  t.host_bound = t.host_ns + t.framework_ns + t.loader_ns > t.gpu_ns;
  const int64_t input = t.loader_ns + t.input_copy_ns;
  t.input_bound = input > t.step_ns - input;
  if (t.epoch_ns)
    t.epoch_ns = rounded([](const TimeEstimate& x) { return x.epoch_ns.value_or(0); });
  if (t.run_ns) t.run_ns = rounded([](const TimeEstimate& x) { return x.run_ns.value_or(0); });
  return t;
}

}  // namespace

Estimate mean_over(std::vector<Estimate> estimates, const std::vector<LengthBucket>& buckets) {
  const Mean mean(estimates, buckets);
  const double step = mean.of(&TimeEstimate::step_ns);
  size_t nearest = 0;
  std::vector<LengthTime> lengths;
  for (size_t i = 0; i < estimates.size(); ++i) {
    const auto off = [&](size_t at) {
      return std::abs(static_cast<double>(estimates[at].time.step_ns) - step);
    };
    if (off(i) < off(nearest)) nearest = i;
    lengths.push_back({buckets[i].sizes, mean.share(i), estimates[i].time.step_ns});
  }
  const TimeEstimate time = mean_time(mean, estimates[nearest].time);
  Estimate e = std::move(estimates[nearest]);
  e.time = time;
  e.time.lengths = std::move(lengths);
  e.basis.push_back(
      fmt::format("time is the mean over batches of {} lengths; layers and kernels "
                  "are those at {}",
                  buckets.size(), listed(buckets[nearest].sizes)));
  return e;
}

}  // namespace plimsoll
