// Kernels of a step summed by class, as profilers' tables have them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/kernel.h"
#include "graph/json/fields.h"

namespace plimsoll {

struct ClassShare {
  std::string kernel_class;         // "conv backward_weights", "batch_norm forward", "gemm"
  std::string_view library_kernel;  // empty where no source names it
  int64_t count = 0, ns = 0;        // launches, and of all of them
  double share = 0, fp32_utilisation = 0;
};

inline void describe(Fields& f, ClassShare& c) {
  f("class", c.kernel_class);
  f("library_kernel", c.library_kernel,
    {.meaning = "as profilers show it, where a source names it",
     .null_where = c.library_kernel.empty()});
  f("count", c.count);
  f("ns", c.ns);
  f("share", c.share, {.meaning = "of the step's GPU time", .low = 0});
  f("fp32_utilisation", c.fp32_utilisation,
    {.meaning = "executed operations over the card's FP32 peak for that time", .low = 0});
}

// Of the copies between layouts around kernels that want another one: transposes of a framework,
// or of the library itself.
inline constexpr std::string_view kConversionClass = "layout conversion";

// What a kernel belongs to.
std::string class_of(const KernelAt& kernel);

// `cudnn`: 100 * major + minor. Names are those of cuDNN 5 to 7 and of the frameworks of that time.
std::string_view library_kernel(const KernelAt& kernel, std::string_view framework, int cudnn);

}  // namespace plimsoll
