// A run on the host itself, --gpu cpu: what of a platform and of its flags is a card's alone.
#pragma once

#include "estimator/request/platform.h"

namespace plimsoll {

// Makes a platform whose device is the host's one without a card: memory is the host's, blocks come
// straight from malloc where an allocator of a card would keep segments, recurrent layers are
// unrolled, as PyTorch's are on CPUs (aten/src/ATen/native/RNN.cpp), and no library of a card takes
// anything.
void put_on_host(Platform& platform);

// E116 for a flag of the user's that acts on a card, its libraries or time, by its name.
Result<void> check_host_flags(const Request& request);

}  // namespace plimsoll
