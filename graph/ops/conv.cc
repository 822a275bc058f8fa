#include "graph/ops/families.h"

namespace plimsoll::ops {

std::span<const OpRow> conv_rows() { return {}; }

}  // namespace plimsoll::ops
