// How a framework runs forward, backward and update on a device: what a model is compiled by.
#pragma once

#include "estimator/request/platform.h"

namespace plimsoll {

// What the framework does on this device: which attention kernel, which rounding, what its
// devices tell each other.
Policy policy_for(const Platform& platform, const KernelRequest& asked);

// What is asked, shared by as many devices as there are; layers are split where the exchange is of
// that name.
Recipe recipe_for(const Platform& platform, Recipe recipe);

struct AutogradBehaviour {
  Recipe recipe;
  Policy policy;
};

AutogradBehaviour autograd_behaviour(const Platform& platform, const KernelRequest& asked,
                                     const Recipe& recipe);

}  // namespace plimsoll
