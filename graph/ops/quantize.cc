#include "graph/ops/families.h"

namespace plimsoll::ops {

std::span<const OpRow> quantize_rows() { return {}; }

}  // namespace plimsoll::ops
