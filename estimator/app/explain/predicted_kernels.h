// predicted_kernels: the distinct kernels of a step as an estimate prices them, to hold each
// against a card that runs it, one kernel after the other.
//
//   const auto step = predicted_kernels(request, hwdb);
//   for (const PredictedKernel& k : step->kernels) k.kernel, k.time.seconds, k.workspace_bytes
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "estimator/library/workspace/tables.h"
#include "estimator/request/request.h"
#include "estimator/time/step_time.h"
#include "hwdb/hwdb.h"
#include "hwdb/version.h"

namespace plimsoll {

struct PredictedKernel {
  KernelAt kernel;
  std::string label;      // as tables of kernels call it
  std::string algorithm;  // the one that its scratch memory is of, else that its time is of
  int64_t workspace_bytes = 0;
  KernelTime time;                                     // of one launch, timed alone
  std::array<int64_t, kStepPhaseCount> launches = {};  // by StepPhase

  int64_t count() const {
    int64_t sum = 0;
    for (const int64_t n : launches) sum += n;
    return sum;
  }
};

struct PredictedStep {
  std::vector<PredictedKernel> kernels;  // in the order in which they first run
  // By what the framework has the library choose.
  WorkspacePolicy policy;
  std::string framework;  // "pytorch-2.1"
  int64_t batch = 0;
  std::vector<std::string> basis;  // of their times
};

// Of request.devices[0], at the request's sizes. Errors as estimate().
Result<PredictedStep> predicted_kernels(const Request& request, const Hwdb& hwdb);

}  // namespace plimsoll
