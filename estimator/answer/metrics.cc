#include "estimator/answer/metrics.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/base/setting.h"

namespace plimsoll {
namespace {

std::optional<double> over(double part, double whole) {
  return whole > 0 ? std::optional(part / whole) : std::nullopt;
}

std::optional<double> as_real(const std::optional<int64_t>& bytes) {
  return bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
}

constexpr std::string_view kOnHost = "only memory is predicted on the host";

// Busy time of all cores: dispatch, the framework's own terms and all threads that load.
Metric cpu_utilisation(const TimeEstimate& t, bool on_host) {
  const auto cores = static_cast<double>(t.host_cores);
  const auto busy = static_cast<double>(t.host_ns + t.framework_ns + t.loading_ns);
  return {"cpu_utilisation",
          "CPU utilisation",
          "of 1",
          "busy time of the host's threads (launches, the framework's other work, data loading) "
          "divided by (cores x step time)",
          over(busy, cores * static_cast<double>(t.step_ns)),
          on_host ? std::string(kOnHost)
                  : fmt::format("the number of cores of the host, which {} sets", setting("host"))};
}

std::vector<Metric> rates_of(const Estimate& e) {
  const TimeEstimate& t = e.time;
  const double seconds = static_cast<double>(t.step_ns) * 1e-9;
  const std::string no_step(e.on_host ? kOnHost : "nothing runs on the GPU");
  const std::optional<double> in = as_real(t.to_device_bytes), out = as_real(t.from_device_bytes);
  const std::string no_reading(e.on_host ? kOnHost : "what the program reads back from the GPU");
  return {
      {"throughput", "throughput", t.sample_unit + "/s",
       "samples of all GPUs divided by the time of one step, after warm-up",
       t.samples_per_second > 0 ? std::optional(t.samples_per_second) : std::nullopt, no_step},
      {"gpu_utilisation", "time in kernels", "of 1",
       "share of the step in which at least one kernel of the model runs; copies and communication "
       "are not counted",
       t.step_ns > 0 ? std::optional(t.gpu_busy) : std::nullopt, no_step},
      {"fp32_utilisation", "FP32 utilisation", "of 1",
       "executed floating-point operations divided by (peak FP32 rate x time in which kernels run)",
       t.gpu_ns > 0 ? std::optional(t.fp32_utilisation) : std::nullopt, no_step},
      cpu_utilisation(t, e.on_host),
      {"pcie_to_device_bytes", "PCIe to the GPU, per step", "B",
       "bytes through the slot of one GPU: its batch, and gradients exchanged over PCIe", in,
       no_step},
      {"pcie_from_device_bytes", "PCIe from the GPU, per step", "B",
       "bytes through the slot of one GPU: the loss, and gradients exchanged over PCIe", out,
       no_reading},
      {"pcie_to_device_rate", "PCIe rate to the GPU", "B/s", "these bytes divided by the step time",
       in ? over(*in, seconds) : std::nullopt, no_step},
      {"pcie_from_device_rate", "PCIe rate from the GPU", "B/s",
       "these bytes divided by the step time", out ? over(*out, seconds) : std::nullopt,
       no_reading}};
}

std::vector<MemoryCategory> categories_of(const MemoryEstimate& m) {
  const auto at_peak = [&](Role role) { return m.peak_by_role[static_cast<size_t>(role)]; };
  const auto most = [&](Role role) { return m.max_by_role[static_cast<size_t>(role)]; };
  const auto phase = [&](Phase p) { return m.max_temporary[static_cast<size_t>(p)]; };
  const bool in_backward = m.peak_phase == Phase::kBackward;
  const int64_t temporary = at_peak(Role::kTemporary);
  const int64_t elsewhere =
      std::max({phase(Phase::kForward), phase(Phase::kLoss), phase(Phase::kUpdate)});
  const auto lasting = [](const auto& of) { return of(Role::kOptimizerState) + of(Role::kInput); };
  std::vector<MemoryCategory> all = {
      {"weights", "weights", "parameters and buffers, such as running statistics",
       at_peak(Role::kParameter) + at_peak(Role::kBuffer),
       most(Role::kParameter) + most(Role::kBuffer)},
      {"gradients", "gradients", "gradients of parameters", at_peak(Role::kGradient),
       most(Role::kGradient)},
      {"gradient_maps", "gradient maps",
       "gradients of feature maps; they are temporaries of the backward pass",
       in_backward ? temporary : 0, phase(Phase::kBackward)},
      {"feature_maps", "feature maps", "results of the forward pass kept for the backward pass",
       at_peak(Role::kFeatureMap), most(Role::kFeatureMap)},
      {"workspace", "library workspace",
       "scratch memory of library kernels; the table of peak memory adds it even if no such kernel "
       "runs at that moment",
       at_peak(Role::kWorkspace), most(Role::kWorkspace)},
      {"dynamic", "batch, states, other",
       "batches, optimizer state, temporaries of the other passes",
       lasting(at_peak) + (in_backward ? 0 : temporary), lasting(most) + elsewhere}};
  int64_t sum = 0;
  for (const MemoryCategory& c : all) sum += c.maximum_bytes;
  for (MemoryCategory& c : all)
    c.share = over(static_cast<double>(c.maximum_bytes), static_cast<double>(sum)).value_or(0);
  return all;
}

}  // namespace

Metrics metrics_of(const Estimate& estimate) {
  return {rates_of(estimate), categories_of(estimate.memory)};
}

}  // namespace plimsoll
