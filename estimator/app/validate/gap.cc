#include "estimator/app/validate/gap.h"

#include <algorithm>
#include <vector>

namespace plimsoll {
namespace {

constexpr double kMebibyte = 1048576.0;

const ValidationLine* line_of(std::span<const ValidationLine> lines, std::string_view quantity) {
  const auto at = std::ranges::find_if(lines, [&](const ValidationLine& l) {
    return l.quantity == quantity && l.measured && l.predicted;
  });
  return at == lines.end() ? nullptr : &*at;
}

Gap whole(std::string_view part, const ValidationLine& l) {
  return {std::string(part), *l.predicted, *l.measured};
}

// What is in the first and not in the others.
Gap rest(std::string_view part, const ValidationLine& all,
         std::initializer_list<const ValidationLine*> others) {
  Gap left = whole(part, all);
  for (const ValidationLine* l : others) {
    left.predicted -= *l->predicted;
    left.measured -= *l->measured;
  }
  return left;
}

// Less than was predicted, by no more than the scratch memory that was: the library took less.
Gap tensors(const ValidationLine& allocated, const MemoryEstimate& m) {
  const double workspace = static_cast<double>(m.workspace_bytes) / kMebibyte;
  const double more = *allocated.predicted - *allocated.measured;
  if (more <= 0 || more > workspace) return whole("tensors and workspace", allocated);
  return {"cuDNN's workspace", workspace, workspace - more};
}

// The process holds the allocator's segments, which hold the tensors.
std::vector<Gap> parts_of_memory(const ValidationLine& l, std::span<const ValidationLine> lines,
                                 const MemoryEstimate& m) {
  const ValidationLine* reserved = line_of(lines, "peak_reserved_mb");
  const ValidationLine* allocated = line_of(lines, "peak_allocated_mb");
  std::vector<Gap> parts;
  if (allocated) parts.push_back(tensors(*allocated, m));
  if (l.quantity == "peak_allocated_mb") return parts;
  const bool of_process = l.quantity != "peak_reserved_mb";
  if (reserved && of_process) parts.push_back(rest("context and libraries", l, {reserved}));
  if (reserved && allocated) {
    parts.push_back(rest("the allocator's segments", *reserved, {allocated}));
  } else if (reserved) {
    parts.push_back(whole("tensors, workspace and segments", *reserved));
  } else if (allocated) {
    parts.push_back(rest("context, libraries and segments", l, {allocated}));
  }
  return parts;
}

std::vector<Gap> parts_of_step(const ValidationLine& l, std::span<const ValidationLine> lines) {
  const ValidationLine* forward = line_of(lines, "forward_ms");
  const ValidationLine* backward = line_of(lines, "backward_ms");
  const ValidationLine* kernels = line_of(lines, "gpu_ms");
  if (forward && backward) {
    return {whole("forward", *forward), whole("backward", *backward),
            rest("update and what is around the passes", l, {forward, backward})};
  }
  if (kernels) return {whole("kernels", *kernels), rest("host and copies", l, {kernels})};
  if (forward) return {whole("forward", *forward), rest("backward and update", l, {forward})};
  return {};
}

}  // namespace

void find_gaps(std::span<ValidationLine> lines, const Answer& answer) {
  constexpr std::string_view kMemory[] = {"nvidia_smi_mb", "device_used_mb", "peak_reserved_mb",
                                          "peak_allocated_mb"};
  for (ValidationLine& l : lines) {
    if (!l.measured || !l.predicted) continue;
    std::vector<Gap> parts;
    if (std::ranges::find(kMemory, l.quantity) != std::end(kMemory))
      parts = parts_of_memory(l, lines, answer.memory);
    if (l.quantity == "total_ms") parts = parts_of_step(l, lines);
    const double sign = *l.predicted > *l.measured ? 1 : -1;
    const auto off = [&](const Gap& gap) { return sign * (gap.predicted - gap.measured); };
    const auto most = std::ranges::max_element(parts, {}, off);
    const bool itself = parts.size() == 1 && most->part == "tensors and workspace";
    if (most != parts.end() && off(*most) > 0 && !itself) l.gap = *most;
  }
}

}  // namespace plimsoll
