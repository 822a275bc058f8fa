#include "graph/ir/step.h"

#include <array>

namespace plimsoll {

std::string_view name(Phase phase) {
  static constexpr std::array<std::string_view, kPhaseCount> kNames = {"forward", "loss",
                                                                       "backward", "update"};
  return kNames[static_cast<size_t>(phase)];
}

std::string_view name(Role role) {
  static constexpr std::array<std::string_view, kRoleCount> kNames = {
      "parameter",   "buffer",    "gradient",  "optimizer_state", "input",
      "feature_map", "temporary", "workspace", "context"};
  return kNames[static_cast<size_t>(role)];
}

}  // namespace plimsoll
