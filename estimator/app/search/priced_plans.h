// PricedPlans: the plans of one cluster, from all that there are to those that are worth an
// estimate, and their estimates.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "estimator/app/search/block_price.h"
#include "estimator/app/search/deviations.h"
#include "estimator/app/search/plan_advice.h"
#include "estimator/app/search/plan_outline.h"

namespace plimsoll {

struct EstimatedPlan {
  ClusterPlan plan;
  PricedPlan priced;
  AnswerNotes notes;
  std::string sample_unit{};
};

// What a search costs at most.
struct PlanEffort {
  size_t fastest = 24;   // plans estimated of those that look fastest
  size_t of_a_mesh = 4;  // ... of one mesh
  size_t smallest = 8;   // plans estimated of those that look smallest
};

class PricedPlans {
 public:
  // `request`: on the platform that it names. All outlive it.
  PricedPlans(const Request& request, const Hwdb& hwdb, const Platform& platform,
              BlockPrices& prices)
      : request_(request), hwdb_(hwdb), platform_(platform), prices_(prices) {}

  // Compares all plans, then estimates those that look best, the fastest first.
  std::vector<EstimatedPlan> run(std::span<const ClusterPlan> plans, const PlanEffort& effort,
                                 size_t threads);
  const PlanCounts& counts() const { return counts_; }
  // The plan that keeps least, and how much; nothing where the model cannot be split so at all.
  struct Least {
    ClusterPlan plan{};
    int64_t bytes = 0;
  };
  const std::optional<Least>& least() const { return least_; }

 private:
  struct Compared {
    ClusterPlan plan;
    PlanOutline outline;
    PlanOutline likely;      // as estimates of plans like it correct the outline
    bool corrected = false;  // there are such
    bool estimated = false;
  };

  void note_kept(const ClusterPlan& plan, int64_t bytes);
  void price_blocks(std::span<const ClusterPlan> plans, size_t threads);
  void leave_out(std::span<const ClusterPlan> plans);
  void compare();
  std::vector<size_t> fastest(const PlanEffort& effort) const;
  std::vector<size_t> pareto(size_t most) const;
  std::vector<size_t> smallest(size_t most) const;
  void estimate_all(std::vector<size_t> chosen, size_t threads);
  void correct();
  double highest_pace() const;  // of those that fit; 0 where none was estimated
  bool may_fit(const Compared& compared) const;
  bool is_promising(const Compared& compared) const;
  bool is_beaten(const Compared& compared) const;

  const Request& request_;
  const Hwdb& hwdb_;
  const Platform& platform_;
  BlockPrices& prices_;
  PlanCounts counts_;
  size_t tried_ = 0;  // plans, of which some were refused
  std::optional<Least> least_;
  std::vector<ClusterPlan> kept_;   // that a card may hold
  std::vector<Compared> compared_;  // the fastest first, as far as is known
  Deviations deviations_;
  std::vector<EstimatedPlan> estimated_;
};

}  // namespace plimsoll
