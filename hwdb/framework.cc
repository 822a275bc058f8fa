#include "hwdb/framework.h"

#include <algorithm>
#include <limits>

namespace plimsoll {

int64_t SystemReserve::of(int64_t free) const {
  if (least.value == 0) return 0;
  return std::min(free,
                  std::max(least.value, static_cast<int64_t>(share * static_cast<double>(free))));
}

void FrameworkProfile::ask(const Version& version) {
  asked = version;
  if (turns_first_since && !(version < *turns_first_since)) channels_last = false;
  for (const UsualLibraries& row : libraries) {
    if (version < row.since && &row != &libraries.front()) break;
    cudnn = row.cudnn;
    cuda = row.cuda;
  }
}

bool FrameworkProfile::names_version() const {
  return asked != Version{.numbers = {std::numeric_limits<int>::max()}};
}

ModuleLoading FrameworkProfile::usual_loading(const Version& with) const {
  const bool asks = lazy_loading_since && !(asked < *lazy_loading_since) && can_load_lazily(with);
  return asks || loads_lazily_by_default(with) ? ModuleLoading::kLazy : ModuleLoading::kEager;
}

}  // namespace plimsoll
