#include "graph/ops/families.h"

namespace plimsoll::ops {

std::span<const OpRow> pool_rows() { return {}; }

}  // namespace plimsoll::ops
