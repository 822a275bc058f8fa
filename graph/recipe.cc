#include "graph/recipe.h"

#include <array>

namespace plimsoll {

int state_count(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kSgd:
      return 0;
    case Optimizer::kMomentum:
    case Optimizer::kRmsProp:
    case Optimizer::kAdagrad:
      return 1;
    case Optimizer::kAdam:
    case Optimizer::kAdamW:
      return 2;
  }
  return 0;
}

std::string_view name(Loss loss) {
  static constexpr std::array<std::string_view, 6> kNames = {"cross_entropy", "mse", "bce",
                                                             "sum",           "ctc", "none"};
  return kNames[static_cast<size_t>(loss)];
}

}  // namespace plimsoll
