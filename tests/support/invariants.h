// What holds of every estimate, whatever the model, framework, device and recipe.
//
//   for (const std::string& fault : test::check_invariants(e)) FAIL_CHECK(fault);
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "estimator/answer/estimate.h"

namespace plimsoll::test {

namespace detail {

class Faults {
 public:
  void at_most(std::string_view what, double less, double more) {
    if (!(less <= more)) faults_.push_back(fmt::format("{}: {} > {}", what, less, more));
  }
  void in_order(std::string_view what, int64_t less, int64_t more) {
    if (less > more) faults_.push_back(fmt::format("{}: {} > {}", what, less, more));
  }
  void equal(std::string_view what, int64_t one, int64_t other) {
    if (one != other) faults_.push_back(fmt::format("{}: {} is not {}", what, one, other));
  }
  std::vector<std::string> take() { return std::move(faults_); }

 private:
  std::vector<std::string> faults_;
};

inline void check_memory(const Estimate& e, Faults& faults) {
  const MemoryEstimate& m = e.memory;
  int64_t roles = 0;
  for (size_t r = 0; r < m.peak_by_role.size(); ++r) {
    const std::string role(name(static_cast<Role>(r)));
    faults.in_order("no " + role + " at the peak", 0, m.peak_by_role[r]);
    faults.in_order(role + " at the peak <= its maximum", m.peak_by_role[r], m.max_by_role[r]);
    roles += m.peak_by_role[r];
  }
  faults.equal("roles sum to the peak", roles, m.live_peak_bytes);
  faults.in_order("parameters <= live", m.parameter_bytes, m.live_peak_bytes);
  faults.in_order("live <= allocated", m.live_peak_bytes, m.allocated_peak_bytes);
  faults.in_order("allocated <= reserved", m.allocated_peak_bytes, m.reserved_bytes);
  faults.equal("context + reserved = device", m.context_bytes + m.reserved_bytes, m.device_bytes);
  if (m.minimum_bytes) faults.in_order("minimum <= device", *m.minimum_bytes, m.device_bytes);
  faults.in_order("range's low <= device", m.device_range.low, m.device_bytes);
  faults.in_order("device <= range's high", m.device_bytes, m.device_range.high);
  faults.in_order("no low end below nothing", 0, m.device_range.low);
  faults.in_order("host's low <= host", m.host_range.low, m.host_bytes);
  faults.in_order("host <= host's high", m.host_bytes, m.host_range.high);
  faults.equal("the point's fit", e.fits ? 1 : 0, m.device_bytes <= e.usable_bytes ? 1 : 0);
  faults.equal("the verdict", static_cast<int64_t>(m.verdict),
               static_cast<int64_t>(verdict_of(m.device_range, e.usable_bytes)));
}

inline void check_times(const Estimate& e, Faults& faults) {
  constexpr double kRounding = 1e-6;
  const TimeEstimate& t = e.time;
  // A network whose outputs no input reaches runs nothing, and says so.
  const bool idle = std::any_of(e.diagnostics.begin(), e.diagnostics.end(),
                                [](const Diagnostic& d) { return d.code == "W236"; });
  faults.equal("nothing runs only where that is said", idle ? 1 : 0, t.launches == 0 ? 1 : 0);
  faults.in_order("a step takes time", idle ? 0 : 1, t.step_ns);
  faults.in_order("forward takes time", idle ? 0 : 1, t.forward_ns);
  for (const int64_t part : {t.backward_ns, t.update_ns, t.communication_ns, t.input_copy_ns,
                             t.gpu_ns, t.host_ns, t.framework_ns})
    faults.in_order("no part is negative", 0, part);
  const int64_t phases = t.forward_ns + t.backward_ns + t.update_ns;
  faults.at_most("phases sum to the GPU's work", std::abs(static_cast<double>(phases - t.gpu_ns)),
                 4 + kRounding * static_cast<double>(t.gpu_ns));
  faults.in_order("GPU's work <= step", t.gpu_ns, t.step_ns + 1);
  faults.in_order("range's low <= step", t.step_range_ns.low, t.step_ns);
  faults.in_order("step <= range's high", t.step_ns, t.step_range_ns.high);
  for (const double share : {t.gpu_busy, t.cpu_utilisation})
    faults.at_most("a share <= 1", share, 1 + kRounding);
  faults.at_most("no pace is negative", 0, t.samples_per_second);
  double shares = 0;
  for (const KernelShare& k : t.kernels) {
    shares += k.share;
    // Nanoseconds are rounded.
    const double seconds = (static_cast<double>(k.total_ns) + 1) * 1e-9 * (1 + kRounding);
    const auto count = static_cast<double>(k.count);
    faults.in_order(k.kernel + " takes time", 1, k.total_ns);
    if (e.peak_flops)
      faults.at_most(k.kernel + ": work / peak", count * k.flop / *e.peak_flops, seconds);
    if (const auto rate = e.bandwidth_bytes_per_second)
      faults.at_most(k.kernel + ": bytes / bandwidth", count * k.bytes / *rate, seconds);
  }
  if (!t.kernels.empty())
    faults.at_most("kernels' shares sum to 1", std::abs(shares - 1), kRounding);
}

}  // namespace detail

// The faults, in words; empty where all holds.
inline std::vector<std::string> check_invariants(const Estimate& e) {
  detail::Faults faults;
  detail::check_memory(e, faults);
  detail::check_times(e, faults);
  return faults.take();
}

// ... and of the same model at a larger batch: nothing shrinks but what the allocator holds beside
// its tensors, and the library's scratch.
inline std::vector<std::string> check_growth(const Estimate& smaller, const Estimate& larger) {
  detail::Faults faults;
  const MemoryEstimate &a = smaller.memory, &b = larger.memory;
  faults.in_order("live memory grows with the batch", a.live_peak_bytes, b.live_peak_bytes);
  const int64_t slack = a.reserved_bytes - a.allocated_peak_bytes + a.workspace_bytes;
  faults.in_order("device memory grows but for segments and scratch", a.device_bytes - slack,
                  b.device_bytes);
  return faults.take();
}

}  // namespace plimsoll::test
