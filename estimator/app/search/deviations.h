// Deviations: how far estimates came out from the outlines of their plans. Plans that split a block
// alike and share it by the same library are about as far: their outlines leave out the same.
//
//   deviations.note(plan, outline, device_bytes, seconds);
//   const auto likely = deviations.corrected(another, its_outline);
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "estimator/app/search/cluster_plan.h"
#include "estimator/app/search/plan_outline.h"

namespace plimsoll {

class Deviations {
 public:
  // `bytes` and `seconds`: of the plan's estimate.
  void note(const ClusterPlan& plan, const PlanOutline& outline, int64_t bytes, double seconds) {
    if (outline.bytes <= 0 || outline.seconds <= 0) return;
    const Least seen{static_cast<double>(bytes) / static_cast<double>(outline.bytes),
                     seconds / outline.seconds};
    Least& least = least_.emplace(alike(plan), seen).first->second;
    least = {std::min(least.bytes, seen.bytes), std::min(least.seconds, seen.seconds)};
  }

  // As the estimates that came out smallest and fastest beside the outlines of plans like it: what
  // it comes to, or less. Nothing where no such plan was estimated.
  std::optional<PlanOutline> corrected(const ClusterPlan& plan, const PlanOutline& outline) const {
    const auto at = least_.find(alike(plan));
    if (at == least_.end()) return std::nullopt;
    PlanOutline likely = outline;
    likely.bytes = static_cast<int64_t>(at->second.bytes * static_cast<double>(outline.bytes));
    likely.seconds = at->second.seconds * outline.seconds;
    return likely;
  }

 private:
  using Alike = std::tuple<BlockSettings, Sharded, bool>;  // at no micro-batch; what; by FSDP
  struct Least {
    double bytes = 1, seconds = 1;  // of an estimate, as shares of its outline
  };

  static Alike alike(const ClusterPlan& plan) {
    return {plan.block.at_batch(0), plan.sharding.what, plan.sharding.fsdp};
  }

  std::map<Alike, Least> least_;
};

}  // namespace plimsoll
