#include "estimator/answer/platform_notes.h"

#include <fmt/format.h>

#include <map>

#include "estimator/request/lengths.h"
#include "graph/base/setting.h"

namespace plimsoll {

Diagnostics platform_warnings(const Platform& platform, const PrecisionRow& precision) {
  Diagnostics warnings = platform.device.warnings;
  for (const Diagnostics* more : {&platform.framework.warnings, &platform.host.warnings})
    warnings.insert(warnings.end(), more->begin(), more->end());
  for (const std::optional<Link>* joined : {&platform.link, &platform.network}) {
    if (!*joined) continue;
    const Diagnostics& more = (*joined)->warnings;
    warnings.insert(warnings.end(), more.begin(), more.end());
  }
  const int64_t together = platform.gpu_count / platform.nodes;
  if (platform.link && together > platform.link->points.back().gpus) {
    warnings.push_back(
        note("N527",
             fmt::format(
                 "{} was measured with at most {} GPUs; {} are assumed to have the same bandwidth",
                 platform.link->id, platform.link->points.back().gpus, together)));
  }
  const std::string_view rate = precision.products                            ? "fp8_tensor"
                                : product_type(precision) == DType::kBFloat16 ? "bf16_tensor"
                                : precision.tf32                              ? "tf32_tensor"
                                                                              : "";
  if (!rate.empty() && !platform.device.is_host && !platform.device.peak(rate)) {
    warnings.push_back(
        warning("W402", fmt::format("{} has no peak rate for {} on tensor cores: the fp32 rate is "
                                    "assumed for its matrix products",
                                    platform.device.id, rate.substr(0, rate.find('_')))));
  }
  return warnings;
}

namespace {

// Low-power memory is soldered beside a processor that shares it: no card has any of its own.
bool shares_host_memory(const Device& device) { return device.memory_type.starts_with("LPDDR"); }

}  // namespace

std::vector<std::string> card_basis(const Device& device, const PlatformRequest& request,
                                    const Estimate& answer) {
  std::vector<std::string> basis;
  if (!device.origin.empty()) basis.push_back("gpu: " + device.origin);
  if (shares_host_memory(device) && !request.memory_bytes && request.reserve_bytes == 0) {
    basis.push_back(
        "memory: shared with the machine; the system, other processes and the run's host memory "
        "are not counted, which " +
        setting("reserve", "8GiB") + " subtracts");
  }
  if (request.display_bytes > 0) {
    basis.push_back(
        fmt::format("display: {:.0f} MiB of the GPU are reserved for a desktop, as requested",
                    static_cast<double>(request.display_bytes) / (1 << 20)));
    return basis;
  }
  // A desktop, its compositor and a browser; nvidia-smi shows 0.2 to 1 GiB for them. Assumed.
  constexpr int64_t kDesktop = int64_t{1} << 30;
  const Range& range = answer.memory.device_range;
  const bool matters =
      range.low <= answer.usable_bytes && answer.usable_bytes - kDesktop < range.high;
  if (device.display && !request.memory_bytes && matters) {
    basis.push_back(
        "display: no desktop session is counted; one would use up to 1 GiB of this GPU, which " +
        setting("display", "1GiB") + " subtracts");
  }
  return basis;
}

namespace {

std::string offload_text(const Offload& offload) {
  std::string text;
  const auto add = [&](bool is, std::string_view what) {
    if (is) text += fmt::format("{}{}", text.empty() ? "; in host memory: " : ", ", what);
  };
  add(offload.states, "optimizer states");
  add(offload.parameters, "weights");
  add(offload.activations, "feature maps");
  return text;
}

}  // namespace

std::string devices_text(const Platform& platform) {
  if (platform.device.is_host) return "on the host";
  const std::string offload = offload_text(platform.parallel.offload);
  if (platform.gpu_count <= 1) return "1 GPU" + offload;
  std::string text = fmt::format("on each of {} GPUs", platform.gpu_count);
  const ParallelPlan& plan = platform.parallel;
  if (plan.sharded != Sharded::kNothing)
    text += fmt::format(" ({}{})", axes_text(plan.mesh),
                        plan.keeps_gathered ? ", weights stay gathered for backward" : "");
  if (platform.link) text += " over " + platform.link->id;
  if (platform.network)
    text += fmt::format(", in {} machines over {}", platform.nodes, platform.network->id);
  text += ", exchange " + platform.exchange + offload;
  return text + (platform.one_process() ? "; the first GPU also has the outputs of all" : "");
}

std::string settings_text(const CompiledModel& model, const Platform& platform, Layout layout,
                          int64_t batch) {
  const Recipe& r = model.recipe;
  const std::string training = model.recorded ? "a recorded step"
                               : r.mode == Mode::kInference
                                   ? fmt::format("inference, {}", r.precision->name)
                                   : fmt::format("train, {}, loss {}, {}", r.optimizer->name,
                                                 name(r.loss), r.precision->name);
  const std::string devices = devices_text(platform);
  const std::string library = platform.device.is_host ? "" : ", cuDNN " + platform.cudnn.text();
  return fmt::format("{}{}, batch {}, {}, {} ({}){}", training,
                     layout == Layout::kNative ? "" : fmt::format(", {}", name(layout)), batch,
                     devices, platform.framework.id, platform.framework.framework, library);
}

std::string largest_batch_note(Binding at, Binding usual) {
  std::erase_if(at, [&](const auto& size) { return size.second == usual.at(size.first); });
  std::erase_if(usual, [&](const auto& size) { return !at.contains(size.first); });
  return fmt::format("memory at {}, the longest batch; time and layers at {}", listed(at),
                     listed(usual));
}

Diagnostics other_algorithms(const std::optional<AskedAlgorithm>& asked, const BoundStep& bound,
                             const std::vector<KernelPrice>& prices) {
  if (!asked || asked->policy != AlgorithmPolicy::kForced) return {};
  const std::string_view wanted = name(asked->algorithm);
  std::map<std::string, int64_t> others;
  int64_t all = 0, other = 0;
  for (KernelId id = 0; id < bound.kernels.size(); ++id) {
    const std::string& taken = prices[id].algorithm;
    if (bound.kernels[id].op != "conv" || taken.empty()) continue;
    ++all;
    if (taken == wanted) continue;
    ++other;
    ++others[taken];
  }
  if (other == 0) return {};
  std::string list;
  for (const auto& [name, count] : others)
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", count, name);
  return {note("N526", fmt::format("{}: {} of {} distinct convolutions cannot use it and run by {}",
                                   setting("conv-algo", wanted), other, all, list))};
}

std::vector<std::string> compiler_basis(const CompiledModel& model, const Binding& binding) {
  const std::optional<Fusion>& fusion = model.step.fusion;
  if (!fusion) return {};
  const double spared = static_cast<double>(fusion->spared.evaluate(binding).value_or(0));
  return {
      fmt::format(
          "compile: with torch.compile's Inductor {} launches of forward, loss and backward become "
          "{}, which move {:.1f} MB less; convolutions, matrix products and attention still run in "
          "libraries; loss and update are not compiled; no tensor is recomputed instead of kept",
          fusion->eager_launches, fusion->launches, spared / 1e6),
      "compile: memory is that of the uncompiled model without the workspace of fused sums; the "
      "range is wider, because the compiler chooses what to keep"};
}

std::vector<std::string> replay_basis(const CompiledModel& model) {
  return {fmt::format(
              "cuda graphs: each forward{} pass is captured once and replayed by one "
              "launch{}; sizes are assumed to stay the same, the capture is not counted",
              model.recipe.mode == Mode::kInference ? "" : " and backward",
              model.recipe.mode == Mode::kInference ? "" : ", loss and update run without graphs"),
          "cuda graphs: memory may be higher: the rest of the step cannot use what a graph's "
          "private pool keeps"};
}

}  // namespace plimsoll
