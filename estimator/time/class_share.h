// Kernels of a step summed by class, as profilers' tables have them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/kernel.h"

namespace plimsoll {

struct ClassShare {
  std::string kernel_class;         // "conv backward_weights", "batch_norm forward", "gemm"
  std::string_view library_kernel;  // as profilers show it; empty where no source names it
  int64_t count = 0, ns = 0;        // launches, and of all of them
  double share = 0;                 // of the step's GPU time
  double fp32_utilisation = 0;      // executed operations over the card's peak for that time
};

// Of the copies between layouts around kernels that want another one: transposes of a framework,
// or of the library itself.
inline constexpr std::string_view kConversionClass = "layout conversion";

// What a kernel belongs to.
std::string class_of(const KernelAt& kernel);

// `cudnn`: 100 * major + minor. Names are those of cuDNN 5 to 7 and of the frameworks of that time.
std::string_view library_kernel(const KernelAt& kernel, std::string_view framework, int cudnn);

}  // namespace plimsoll
