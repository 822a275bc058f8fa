// The prepared model of one class of kernels on one card: private to estimator/time.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "estimator/time/draft.h"
#include "estimator/time/features.h"
#include "estimator/time/kernel_time.h"

namespace plimsoll {

struct TimeContext::Model {
  std::optional<GemmModel> gemm;
  std::optional<ConvModel> conv;
  std::optional<DepthwiseModel> depthwise;
  std::optional<GroupedModel> grouped;
  std::optional<GroupedAnswers> answers;  // of grouped convolutions
  std::optional<RecurrentModel> recurrent;
  std::optional<PersistentModel> persistent;
  std::optional<MemoryBoundModel> rows;
  std::optional<Fit> fit;  // none: roofline
  Correction correction;   // with its points; none: the formula alone
  // One for each of swept_features(), made when it is first asked for.
  struct Table {
    std::once_flag made;
    std::optional<CorrectionTable> table;
  };
  mutable std::array<Table, kMostSwept> tables;
  const CorrectionTable& table(size_t swept) const;
  int device = -1;  // index into the correction's devices
  bool own = false;
  Evidence evidence = Evidence::kOther;
  double flops = 0;          // what is sustained, flop/s
  double highest_flops = 0;  // what no kernel exceeds
  double near90 = 0, far90 = 0;
  double fixed = 0;  // seconds of a launch timed alone
  int basis = 0;

  // What measurements near these places say of drafts; `swept`: the index of a table.
  void correct(std::span<Draft> drafts, std::span<const Features> at, size_t swept = 0) const;
  // ... at `features`, with the first swept one at each of `places`.
  void correct(std::span<Draft> drafts, const Features& features,
               std::span<const double> places) const;
};

// A model and when it was prepared.
struct TimeContext::Slot {
  std::once_flag prepared;
  Model model;
  std::string basis;
};

struct TimeContext::Slots {
  std::array<Slot, kClassCount * kArithmeticCount> all;
};

}  // namespace plimsoll
