// What a platform's framework does on its device, filled in for the stages behind.
#pragma once

#include "estimator/request/platform.h"

namespace plimsoll {

// The framework's habits on this device: which attention kernel, which rounding, what its
// devices tell each other.
Policy policy_for(const Platform& platform, const KernelRequest& asked);

// What is asked, shared by as many devices as there are; layers are split where the exchange is of
// that name.
Recipe recipe_for(const Platform& platform, Recipe recipe);

}  // namespace plimsoll
