// nearest_fit: where no plan fits a cluster, what is short, and on how many GPUs, or on which other
// card, one would fit.
#pragma once

#include <optional>
#include <span>

#include "estimator/app/search/priced_plans.h"

namespace plimsoll {

// A search that found nothing: its parts.
struct FailedSearch {
  const Request& request;
  const Hwdb& hwdb;
  const Platform& platform;
  BlockPrices& prices;
  PlanSpace space{};
  std::optional<PricedPlans::Least> least{};
  size_t threads = 1;
};

// `estimated`: the plans of the search; where there is none, the plan that keeps least is short of
// what it keeps alone. GPUs are doubled up to 64 times as many, machines where
// there are several; up to eight of one machine. Other cards: those with more memory, the smallest
// first, with the plan that needs least. Cost: some ten estimates for each.
NearestFit nearest_fit(const FailedSearch& failed, std::span<const EstimatedPlan> estimated);

}  // namespace plimsoll
