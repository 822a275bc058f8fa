#include "graph/ops/families.h"

namespace plimsoll::ops {

std::span<const OpRow> attention_rows() { return {}; }

}  // namespace plimsoll::ops
