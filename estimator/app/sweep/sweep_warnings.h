// What a sweep warns of: each thing once, in whatever parts it was found.
#pragma once

#include <optional>

#include "graph/base/diagnostic.h"

namespace plimsoll {

class SweepWarnings {
 public:
  // Without what was said before, of another model or card, in the same words.
  void add(const Diagnostics& warnings);
  // Of a model. A flag has no effect (kWithoutEffect) where it has none on any model.
  void add_model(Diagnostics warnings);
  // Of a later part of the sweep.
  void add(const SweepWarnings& later);

  Diagnostics all() const;

 private:
  void add_idle(const Diagnostics& here);

  std::optional<Diagnostics> idle_;  // of flags, on every model so far
  Diagnostics warnings_;
};

}  // namespace plimsoll
