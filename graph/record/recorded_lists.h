// Recorded calls over lists of tensors, "_foreach_add_", which a kernel does not take at once.
#pragma once

#include "graph/ir/kernel.h"
#include "graph/record/recorded_call.h"

namespace plimsoll {

// 1 for what is no such call. No more than a card's memory has room for.
int64_t launches_of(const RecordedCall& call);

// Of the call's kernel, one of so many launches; the first takes what is left over too.
Kernel share_of(const Kernel& whole, int64_t launches, bool first);

}  // namespace plimsoll
