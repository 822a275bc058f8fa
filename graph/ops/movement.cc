#include "graph/ops/families.h"

namespace plimsoll::ops {

std::span<const OpRow> movement_rows() { return {}; }

}  // namespace plimsoll::ops
