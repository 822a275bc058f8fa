// Measured kernels as fits see them: a kernel, where it ran, how long it took.
//
// calibrate: measurements, and what is learnt from them. It uses the very functions the estimator
// predicts with, and talks back through files only. Nothing here is linked into `plimsoll`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "estimator/kernels/device_rates.h"
#include "graph/base/diagnostic.h"
#include "graph/ir/kernel.h"

namespace plimsoll {

struct MeasuredKernel {
  KernelAt kernel;
  std::string source, device;  // "deepbench", "gtx-titan-x"
  Arithmetic arithmetic = Arithmetic::kF32;
  int library = 0;              // 100 * major + minor of cuDNN, of cuBLAS for products
  std::string algorithm;        // where the source names it
  bool channels_first = false;  // said of a convolution: what tensor cores turn around
  bool host_bound = false;      // the host took most of the interval: no measure of the kernel
  double seconds = 0;           // of one call, timed alone
  uint32_t shape = 0;           // a hash, the same for all measurements of one problem
};

// The transcription `kernel_class`.csv ("gemm", "conv", "recurrent", "rows"): comments, a header
// with the columns by name, one kernel a line. E501 for a missing column or a value that is none.
Result<std::vector<MeasuredKernel>> read_measured(std::string_view text, std::string_view file,
                                                  std::string_view kernel_class);

}  // namespace plimsoll
