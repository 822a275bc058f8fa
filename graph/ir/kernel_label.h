// What a kernel is called in tables.
#pragma once

#include <string>

#include "graph/ir/kernel.h"

namespace plimsoll {

// "conv forward 32x64x56x56 -> 64, 3x3".
std::string kernel_label(const KernelAt& kernel);

}  // namespace plimsoll
