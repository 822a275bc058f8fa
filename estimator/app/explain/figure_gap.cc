#include "estimator/app/explain/figure_gap.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/base/escape.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

constexpr NamedFigure kNamedFigures[] = {
    {"tensors", "the tensors alive at the peak"},
    {"allocated", "torch.cuda.max_memory_allocated()"},
    {"reserved", "torch.cuda.max_memory_reserved()"},
    {"nvidia-smi", "nvidia-smi, of the process"},
    {"kernels", "a profiler's sum over kernels", true},
    {"step", "a timer around the step", true},
};

int64_t amount_of(const Estimate& e, const NamedFigure& figure) {
  const int64_t amounts[] = {e.memory.live_peak_bytes,
                             e.memory.allocated_peak_bytes,
                             e.memory.reserved_bytes,
                             e.memory.device_bytes,
                             e.time.gpu_ns,
                             e.time.step_ns};
  return amounts[&figure - kNamedFigures];
}

Result<const NamedFigure*> find_figure(std::string_view name) {
  const auto at = std::ranges::find(kNamedFigures, name, &NamedFigure::name);
  if (at != std::end(kNamedFigures)) return at;
  std::vector<std::string> names;
  for (const NamedFigure& figure : kNamedFigures) names.emplace_back(figure.name);
  const std::string near = nearest(name, names);
  return error("E106",
               fmt::format("there is no figure '{}'{}", shortened(name, 40),
                           near.empty() ? "" : fmt::format("; did you mean {}?", near)),
               {}, "tensors, allocated, reserved and nvidia-smi; kernels and step");
}

// What a figure has beyond the one before it.
FigureStep step_to(const Estimate& e, const NamedFigure& figure) {
  const MemoryEstimate& m = e.memory;
  if (figure.name == "allocated") {
    return {
        "the library's workspace",
        fmt::format("workspace of the convolution at the peak, by {}; it comes from the allocator",
                    m.workspace_basis),
        0};
  }
  if (figure.name == "reserved") {
    return {
        "the allocator's segments",
        "memory is allocated from the driver in whole segments, and their free parts stay reserved",
        0};
  }
  if (figure.name == "nvidia-smi") {
    const std::string row = m.context_basis.empty() ? "" : ": " + m.context_basis;
    return {"context and libraries", "the driver's context and the modules of kernels" + row, 0};
  }
  return {"host, copies and communication",
          e.time.host_bound ? "the host launches more slowly than the GPU works"
                            : "work that does not overlap with the GPU's",
          0};
}

}  // namespace

std::span<const NamedFigure> named_figures() { return kNamedFigures; }

Result<FigureGap> figure_gap(const Estimate& estimate, std::string_view one,
                             std::string_view other) {
  const auto first = TRY(find_figure(one));
  const auto second = TRY(find_figure(other));
  if (first == second)
    return error("E114", fmt::format("'{}' is given twice: two figures are compared", one));
  if (first->of_time != second->of_time)
    return error(
        "E112",
        fmt::format("'{}' and '{}' cannot be compared: one is in bytes, the other is a time", one,
                    other));
  FigureGap gap;
  gap.what = fmt::format("{},{}", one, other);
  gap.notes = estimate;
  gap.input = estimate.input;
  gap.device_id = estimate.device_id;
  gap.inner = std::min(first, second);
  gap.outer = std::max(first, second);
  gap.inner_amount = amount_of(estimate, *gap.inner);
  gap.outer_amount = amount_of(estimate, *gap.outer);
  for (const NamedFigure* at = gap.inner + 1; at <= gap.outer; ++at) {
    FigureStep step = step_to(estimate, *at);
    step.amount = amount_of(estimate, *at) - amount_of(estimate, *std::prev(at));
    gap.steps.push_back(std::move(step));
  }
  return gap;
}

}  // namespace plimsoll
