// Timeline: live bytes over a step, by role; their peak, and what is alive at it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "estimator/step/bound_step.h"
#include "graph/json/fields.h"

namespace plimsoll {

using BytesByRole = std::array<int64_t, kRoleCount>;

constexpr std::array<Phase, kPhaseCount> values_of(Phase) {
  return {Phase::kForward, Phase::kLoss, Phase::kBackward, Phase::kUpdate};
}
// The context is none of the step's.
constexpr std::array<Role, kRoleCount - 1> values_of(Role) {
  return {Role::kParameter, Role::kBuffer,     Role::kGradient,  Role::kOptimizerState,
          Role::kInput,     Role::kFeatureMap, Role::kTemporary, Role::kWorkspace};
}
inline void describe_roles(Fields& f, std::string_view key, BytesByRole& bytes,
                           const FieldNote& note = {}) {
  f.object(
      key,
      [&] {
        for (const Role role : values_of(Role{})) f(name(role), bytes[static_cast<size_t>(role)]);
      },
      note);
}

struct Timeline {
  // Exact bytes, not rounded, of what lives through the step; gradients as they are at the update.
  BytesByRole resident_bytes{};
  int64_t gradient_bytes = 0;
  // What stays between steps, without the batch and its targets, in the allocator's granules, as
  // is everything below.
  int64_t persistent_bytes = 0;
  BytesByRole persistent_by_role{};  // without gradients that the next forward pass lets go of
  int64_t saved_bytes = 0;           // alive at the end of forward for the backward's sake
  int64_t peak_bytes = 0;
  size_t peak_event = 0;
  Phase peak_phase = Phase::kForward;
  NodeId peak_node = kNoNode;
  BytesByRole peak_by_role{};
  BytesByRole max_by_role{};
  int64_t activations_peak_bytes = 0;                // of feature maps and temporaries together
  std::array<int64_t, kPhaseCount> max_temporary{};  // of temporaries, by phase
};

// `granule`: bytes that the framework's allocator rounds to (1: none). `storages`: by buffer, whose
// storage it takes over, or itself (in_place.h); empty: each has its own.
// Cost: one walk over the events.
Timeline walk(const Step& step, const BoundStep& bound, int64_t granule,
              std::span<const BufferId> storages = {});

// The largest of the values that are alive at the peak and not resident, in granules; 0 where there
// is none. Cost: one walk over the events before the peak.
int64_t largest_value_at_peak(const Step& step, const BoundStep& bound, int64_t granule,
                              const Timeline& timeline);

// The peak of the forward pass if each value that outlives its node lives until `until`, by node,
// has it: at most as long as names of the code hold it. Cost: one walk over the events.
int64_t forward_peak_with_names(const Step& step, const BoundStep& bound, int64_t rounding,
                                std::span<const BufferId> storages, std::span<const NodeId> until);

// Live bytes after each event, by role: for traces and plots. Same order as step.events.
std::vector<BytesByRole> profile(const Step& step, const BoundStep& bound, int64_t granule,
                                 std::span<const BufferId> storages = {});

}  // namespace plimsoll
