#include "estimator/app/sweep/sweep_warnings.h"

#include <algorithm>

#include "estimator/answer/effects.h"

namespace plimsoll {

void SweepWarnings::add(const Diagnostics& warnings) {
  for (const Diagnostic& d : warnings) {
    const bool known = std::ranges::any_of(warnings_, [&](const Diagnostic& w) {
      return w.code == d.code && w.message == d.message && w.place.node == d.place.node;
    });
    if (!known) warnings_.push_back(d);
  }
}

void SweepWarnings::add_model(Diagnostics warnings) {
  const auto idle =
      std::stable_partition(warnings.begin(), warnings.end(),
                            [](const Diagnostic& d) { return d.code != kWithoutEffect; });
  add_idle(Diagnostics(idle, warnings.end()));
  warnings.erase(idle, warnings.end());
  add(warnings);
}

void SweepWarnings::add(const SweepWarnings& later) {
  add(later.warnings_);
  if (later.idle_) add_idle(*later.idle_);
}

Diagnostics SweepWarnings::all() const {
  Diagnostics all = warnings_;
  if (idle_) all.insert(all.end(), idle_->begin(), idle_->end());
  return all;
}

void SweepWarnings::add_idle(const Diagnostics& here) {
  if (!idle_) idle_ = here;
  keep_common(*idle_, here);
}

}  // namespace plimsoll
