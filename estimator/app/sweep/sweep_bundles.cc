#include "estimator/app/sweep/sweep_bundles.h"

#include <utility>

namespace plimsoll {

Request family_of(Request request) {
  request.devices.clear();
  const PrecisionRow* precision = request.recipe.precision;
  request.recipe = {};
  request.recipe.precision = precision;
  return request;
}

std::vector<SweepGroup> groups_of(std::span<const Request> variants) {
  std::vector<SweepGroup> groups;
  for (size_t begin = 0; begin < variants.size();) {
    const Request shared = family_of(variants[begin]);
    size_t end = begin + 1;
    while (end < variants.size() && end - begin < kMostVariants &&
           variants[end].devices == variants[begin].devices && family_of(variants[end]) == shared)
      ++end;
    groups.push_back({begin, variants.subspan(begin, end - begin)});
    begin = end;
  }
  return groups;
}

std::vector<SweepBundle> bundles_of(const std::vector<SweepGroup>& groups) {
  std::vector<SweepBundle> bundles;
  for (size_t begin = 0; begin < groups.size();) {
    const Request shared = family_of(groups[begin].variants.front());
    size_t end = begin + 1, variants = groups[begin].variants.size();
    while (end < groups.size() && family_of(groups[end].variants.front()) == shared &&
           variants + groups[end].variants.size() <= kMostVariants)
      variants += groups[end++].variants.size();
    bundles.push_back(SweepBundle(groups).subspan(begin, end - begin));
    begin = end;
  }
  return bundles;
}

}  // namespace plimsoll
