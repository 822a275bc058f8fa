// The table of classes that calibrations are fitted for: one row each. kernel_time() and fits read
// the same rows, so that a kernel costs the same in both.
//
// A class is: its terms (hwdb/calibration_terms.h), its model of them (a file of its own here) and
// its row; calibrate/fit_plan.cc says what it is fitted to. What a measured record becomes is the
// table of hwdb/measured/kernel.cc.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "estimator/kernels/conv_algorithms.h"
#include "estimator/kernels/device_rates.h"
#include "estimator/kernels/gemm.h"
#include "estimator/kernels/grouped.h"
#include "estimator/kernels/recurrent_algorithm.h"
#include "graph/ir/kernel.h"

namespace plimsoll {

struct ClassModel;  // estimator/kernels/time_model.h

// What a model is made of.
struct ModelParts {
  std::span<const double> terms;  // coefficient_rows() of the class
  const DeviceRates& rates;
  double clock = 1;  // sustained, relative to the printed boost; at most rates.maximum_clock
  Arithmetic unit = Arithmetic::kF32;
  int library = 0;             // 100 * major + minor that runs
  bool products_only = false;  // of convolutions: neither Winograd nor Fourier transforms
};

// A kernel as models take it: what of it does not depend on terms.
struct KernelFeatures {
  const KernelAt* kernel = nullptr;
  Arithmetic unit = Arithmetic::kF32;
  GemmShape product{};
  ConvShape conv{};
  GroupedKernel grouped{};
  // What the library ran, where somebody says so.
  std::optional<ConvAlgorithm> algorithm{};
  RecurrentAlgorithm recurrent = RecurrentAlgorithm::kStandard;
};

GemmShape product_shape(const KernelAt& kernel);
// In 32 bits transforms of shorter operands are of 32 bits too.
ConvShape convolution_shape(const KernelAt& kernel, Arithmetic unit);
// `kernel` must outlive them; `answers` of grouped convolutions, null where not known.
KernelFeatures features_of(const KernelAt& kernel, Arithmetic unit, const GroupedAnswers* answers);

struct ClassCost {
  double seconds = 0;        // of the fastest algorithm
  double named_seconds = 0;  // of the one that was named; 0 where none is, or it is not known
};

struct FitClassRow {
  std::string_view name;      // "gemm": as calibrations call it
  std::string_view measured;  // the transcription that holds its measured kernels
  int launch = 0;             // the term that is a launch's microseconds
  // Whether such a kernel, of those in `measured`, is one of the class on that card.
  bool (*takes)(const KernelFeatures& features, const DeviceRates& card) = nullptr;
  void (*prepare)(ClassModel& model, const ModelParts& parts) = nullptr;
  // Timed alone.
  ClassCost (*cost)(const ClassModel& model, const KernelFeatures& features) = nullptr;
};

std::span<const FitClassRow> fit_classes();
// Of a name that is one.
const FitClassRow& fit_class(std::string_view name);

}  // namespace plimsoll
