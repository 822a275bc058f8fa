// How a framework's host code feeds a card: what it takes for a step, and how batches come in.
#pragma once

#include <optional>
#include <string>

#include "estimator/request/platform.h"

namespace plimsoll {

struct DispatchBehaviour {
  std::string framework{};          // "pytorch": by which libraries' kernels are named
  std::optional<Dispatch> costs{};  // on the platform's host; nothing: not known
  bool adds_bias = true;            // as a convolution's second kernel, not an operator of its own
  bool copies_during_update = false;  // the next batch comes while parameters are updated
  bool pageable_input = true;         // batches come from memory that is not pinned
};

DispatchBehaviour dispatch_behaviour(const Platform& platform);

}  // namespace plimsoll
