#include "graph/ir/recipe.h"

#include <array>

namespace plimsoll {

std::string_view name(Loss loss) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "cross_entropy", "mse", "bce", "sum", "ctc", "causal_lm", "none"};
  return kNames[static_cast<size_t>(loss)];
}

}  // namespace plimsoll
