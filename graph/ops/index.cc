#include "graph/ops/families.h"

namespace plimsoll::ops {

std::span<const OpRow> index_rows() { return {}; }

}  // namespace plimsoll::ops
