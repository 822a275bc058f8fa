// A fit: what measurements taught about one class of kernels on one architecture. Written by
// `plimsoll-calibrate fit`, read from calibration files (calibration.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll {

// How far off the predictions of kernels are that were left out of what predicted them: five-fold
// by shape, a problem's measurements on all cards together.
struct PassError {
  std::string pass;  // "forward"; of memory-bound kernels with the operator, "softmax forward"
  int64_t kernels = 0;
  double error = 0, median = 0;  // mean and median of |predicted / measured - 1|
  double roofline = 0;           // mean of max(flop / peak, bytes / bandwidth)
  bool operator==(const PassError&) const = default;
};

struct Fit {
  std::string kernel_class;  // "gemm", "conv", "depthwise", "grouped", "recurrent", ...
  std::string arithmetic;    // "f32", "f16_tensor"
  int compute_capability = 0;
  // Of convolutions whose channels are no multiples of four; else of those that networks have.
  bool odd_shapes = false;
  // Versions of cuDNN (conv, recurrent, rows) or cuBLAS (gemm) as 100 * major + minor. The range
  // is the one the terms are meant for, `library` the one that was measured.
  int library = 0, library_first = 0, library_last = 0;
  std::vector<double> terms;                           // in the order of calibration_terms.h
  std::vector<std::pair<std::string, double>> clocks;  // by device id
  // A kernel inside a step against the same one repeated alone, with warm caches at its best clock.
  double in_situ = 1;
  // Kernels were timed in a queue, as a step runs them: what they took of a launch, a step does
  // too.
  bool queued = false;
  // Five-fold by shape: how often, and how far off.
  int64_t measured = 0;          // points
  double error = 0, median = 0;  // mean and median of |predicted / measured - 1|
  double spread = 0;             // standard deviation of ln(predicted / measured)
  double correlation = 0;        // of ln predicted with ln measured
  double range90 = .5;           // 90 % of |ln(predicted / measured)|
  std::vector<PassError> passes;
  std::string note;  // what a reader should know: what was transferred from where
  bool operator==(const Fit&) const = default;
};

}  // namespace plimsoll
