#include "estimator/answer/memory_part.h"

#include <algorithm>
#include <array>
#include <utility>

namespace plimsoll {

std::vector<MemoryPart> memory_parts(const Estimate& e) {
  static constexpr std::array<std::pair<Role, std::string_view>, 8> kNames = {
      {{Role::kFeatureMap, "feature maps kept for backward"},
       {Role::kTemporary, "temporaries"},
       {Role::kWorkspace, "library workspace"},
       {Role::kParameter, "weights"},
       {Role::kGradient, "gradients"},
       {Role::kOptimizerState, "optimizer state"},
       {Role::kInput, "input batch and targets"},
       {Role::kBuffer, "buffers"}}};
  std::vector<MemoryPart> parts;
  int64_t sum = 0;
  for (const auto& [role, title] : kNames) {
    const int64_t bytes = e.memory.peak_by_role[static_cast<size_t>(role)];
    sum += bytes;
    if (bytes > 0) parts.push_back({name(role), title, bytes});
  }
  parts.push_back({"context", "context and libraries", e.memory.context_bytes});
  const int64_t slack = e.memory.device_bytes - e.memory.context_bytes - sum;
  if (slack != 0) parts.push_back({"slack", "allocator slack", slack});
  std::stable_sort(parts.begin(), parts.end(),
                   [](const MemoryPart& a, const MemoryPart& b) { return a.bytes > b.bytes; });
  return parts;
}

}  // namespace plimsoll
