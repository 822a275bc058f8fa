#include "graph/ops/families.h"

namespace plimsoll::ops {

std::span<const OpRow> recurrent_rows() { return {}; }

}  // namespace plimsoll::ops
