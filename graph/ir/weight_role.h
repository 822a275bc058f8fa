// What an initializer is to training.
#pragma once

#include <cstdint>

namespace plimsoll {

// A frozen one is a parameter that wants no gradient; an unreached one wants a gradient and gets
// none, as the loss does not depend on it. A computed one is the result of something that eager
// code runs at every step, which the exporter ran once.
enum class WeightRole : uint8_t { kTrained, kFrozen, kUnreached, kBuffer, kConstant, kComputed };

// A weight of the network, trained in this step or not.
inline bool is_weight(WeightRole kind) {
  return kind == WeightRole::kTrained || kind == WeightRole::kFrozen ||
         kind == WeightRole::kUnreached;
}

}  // namespace plimsoll
