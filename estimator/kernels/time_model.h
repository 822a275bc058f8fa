// The prepared model of one class of kernels on one card: private to estimator/kernels and
// estimator/library.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "estimator/kernels/conv_algorithms.h"
#include "estimator/kernels/depthwise.h"
#include "estimator/kernels/gemm.h"
#include "estimator/kernels/grouped.h"
#include "estimator/kernels/kernel_prediction.h"
#include "estimator/kernels/memory_bound.h"
#include "estimator/kernels/persistent.h"
#include "estimator/kernels/recurrent.h"
#include "estimator/kernels/select_fit.h"
#include "hwdb/fit.h"
#include "hwdb/machine.h"

namespace plimsoll {

struct ClassModel {
  std::optional<GemmModel> gemm;
  std::optional<ConvModel> conv;
  std::optional<DepthwiseModel> depthwise;
  std::optional<GroupedModel> grouped;
  std::optional<GroupedAnswers> answers;  // of grouped convolutions
  std::optional<RecurrentModel> recurrent;
  std::optional<PersistentModel> persistent;
  std::optional<MemoryBoundModel> rows;
  std::optional<Fit> fit;  // none: roofline
  std::string_view kernel_class;
  Arithmetic arithmetic{};
  std::vector<MachineFactor> machine;  // what was measured of it on the user's own card
  bool own = false;
  Evidence evidence = Evidence::kOther;
  double flops = 0;          // what is sustained, flop/s
  double highest_flops = 0;  // what no kernel exceeds
  double range90 = 0;        // ln: 90 of 100 measured kernels lie within
  double fixed = 0;          // seconds of a launch timed alone
  int basis = 0;
};

}  // namespace plimsoll
