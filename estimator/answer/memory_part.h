// What the device's memory consists of at the step's peak, as views list it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "estimator/answer/estimate.h"
#include "graph/json/fields.h"

namespace plimsoll {

struct MemoryPart {
  std::string_view id;    // of a role, "autotuning", "context" or "slack"
  std::string_view name;  // "feature maps kept for backward"
  int64_t bytes = 0;
};

inline void describe(Fields& f, MemoryPart& p) {
  f("part", p.id);
  f("name", p.name);
  f("bytes", p.bytes, {.any_sign = true});
}

// "feature maps kept for backward" of "feature_map"; empty for what is no role's id.
std::string_view role_title(std::string_view id);

// Largest first; they sum to memory.device_bytes. Parts of nothing are left out, but the context.
std::vector<MemoryPart> memory_parts(const Estimate& estimate);

}  // namespace plimsoll
