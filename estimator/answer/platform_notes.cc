#include "estimator/answer/platform_notes.h"

#include <fmt/format.h>

namespace plimsoll {

Diagnostics platform_warnings(const Platform& platform, const Request& request) {
  Diagnostics warnings = platform.device.warnings;
  for (const Diagnostics* more : {&platform.framework.warnings, &platform.host.warnings})
    warnings.insert(warnings.end(), more->begin(), more->end());
  if (platform.link) {
    const Diagnostics& more = platform.link->warnings;
    warnings.insert(warnings.end(), more.begin(), more.end());
  }
  const PrecisionRow& p = *request.recipe.precision;
  const std::string_view rate = p.products                            ? "fp8_tensor"
                                : product_type(p) == DType::kBFloat16 ? "bf16_tensor"
                                : p.tf32                              ? "tf32_tensor"
                                                                      : "";
  if (!rate.empty() && !platform.device.peak(rate)) {
    warnings.push_back(
        warning("W402", fmt::format("{} has no {} rate: its products are priced at the fp32 rate, "
                                    "assumed",
                                    platform.device.id, rate)));
  }
  return warnings;
}

std::vector<std::string> card_basis(const Device& device, const Request& request,
                                    const Estimate& answer) {
  std::vector<std::string> basis;
  if (!device.origin.empty()) basis.push_back("gpu: " + device.origin);
  if (request.display_bytes > 0) {
    basis.push_back(fmt::format("display: {:.0f} MiB of the card are a desktop's, as given",
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
        "display: none is counted; a desktop on this card would take up to 1 GiB of it, which "
        "--display 1GiB takes off");
  }
  return basis;
}

std::vector<std::string> compiler_basis(const CompiledModel& model, const Binding& binding) {
  const std::optional<Fusion>& fusion = model.step.fusion;
  if (!fusion) return {};
  const double spared = static_cast<double>(fusion->spared.evaluate(binding).value_or(0));
  return {fmt::format("compile: as torch.compile's Inductor in its default mode: {} launches of "
                      "forward, loss and backward are {}, and {:.1f} MB fewer are moved; "
                      "convolutions, products and attention stay the libraries', loss and update "
                      "eager; nothing is made anew instead of kept",
                      fusion->eager_launches, fusion->launches, spared / 1e6),
          "compile: memory is the eager figure; its range is wider, since what a compiled program "
          "keeps is its compiler's choice"};
}

}  // namespace plimsoll
