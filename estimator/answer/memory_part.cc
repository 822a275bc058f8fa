#include "estimator/answer/memory_part.h"

#include <algorithm>
#include <array>
#include <utility>

namespace plimsoll {
namespace {

constexpr std::array<std::pair<Role, std::string_view>, 8> kNames = {
    {{Role::kFeatureMap, "feature maps kept for backward"},
     {Role::kTemporary, "temporaries"},
     {Role::kWorkspace, "library workspace"},
     {Role::kParameter, "weights"},
     {Role::kGradient, "gradients"},
     {Role::kOptimizerState, "optimizer state"},
     {Role::kInput, "input batch and targets"},
     {Role::kBuffer, "buffers"}}};

}  // namespace

std::string_view role_title(std::string_view id) {
  const auto row = std::ranges::find_if(kNames, [&](const auto& r) { return name(r.first) == id; });
  return row == kNames.end() ? std::string_view() : row->second;
}

std::vector<MemoryPart> memory_parts(const Estimate& e) {
  std::vector<MemoryPart> parts;
  int64_t sum = 0;
  for (const auto& [role, title] : kNames) {
    const int64_t bytes = e.memory.peak_by_role[static_cast<size_t>(role)];
    sum += bytes;
    const bool cache = role == Role::kBuffer && e.serve;
    if (bytes > 0) parts.push_back({name(role), cache ? "KV cache and buffers" : title, bytes});
  }
  if (!e.on_host || e.memory.host_bytes > 0) {
    parts.push_back({"context", e.on_host ? "process, data set, loaders" : "context and libraries",
                     e.memory.context_bytes});
  }
  // Of the allocator's peak, what is beside the tensors: scratch memory of the algorithms that run,
  // and of those that are timed first.
  const auto add_scratch = [&](std::string_view id, std::string_view title, int64_t bytes) {
    if (bytes <= 0) return;
    sum += bytes;
    parts.push_back({id, title, bytes});
  };
  const MemoryEstimate& m = e.memory;
  const int64_t scratch = std::max<int64_t>(0, m.allocated_peak_bytes - m.live_peak_bytes);
  const int64_t workspace = std::min(scratch, m.workspace_bytes);
  const int64_t timed = std::max<int64_t>(0, m.timed_workspace_bytes - m.workspace_bytes);
  if (m.peak_by_role[static_cast<size_t>(Role::kWorkspace)] == 0)
    add_scratch("workspace", "library workspace", workspace);
  add_scratch("autotuning", "left from timing algorithms", std::min(scratch - workspace, timed));
  const int64_t slack = e.memory.device_bytes - e.memory.context_bytes - sum;
  if (slack != 0) parts.push_back({"slack", "allocator slack", slack});
  std::stable_sort(parts.begin(), parts.end(),
                   [](const MemoryPart& a, const MemoryPart& b) { return a.bytes > b.bytes; });
  return parts;
}

}  // namespace plimsoll
