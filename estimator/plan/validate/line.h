// One figure of a measured run beside what is predicted for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "estimator/library/kernel_time.h"

namespace plimsoll {

// What a predicted step is made of: what fits of hosts need.
struct StepParts {
  std::string evidence;  // what most of its work was measured on: "card", "architecture", "other"
  double gpu_ms = 0, host_ms = 0, framework_ms = 0, copy_ms = 0, communication_ms = 0;
  // Launches: dispatches by the host.
  int64_t launches = 0, forward_launches = 0, parameter_arrays = 0, parameter_bytes = 0;
};

// Which algorithm a convolution ran: by the library's choice, and by the time model's.
struct AlgorithmChoice {
  std::string predicted, measured;  // cuDNN's words: "WINOGRAD_NONFUSED"
  bool same = false;                // but for precomputed offsets and tiles
  // The formulas' time of the measured one over that of the predicted one; none where the model
  // does not know it for such a problem.
  std::optional<double> ratio{};
};

// A part of a figure that is off most, as predicted and as measured.
struct Gap {
  std::string part;                    // "context and libraries"
  double predicted = 0, measured = 0;  // in the record's own unit
};

struct ValidationLine {
  std::string file;
  int64_t index = 0;
  std::string kind, device, op, pass, model, quantity;
  std::optional<double> measured, predicted, low, high;  // in the record's own unit
  std::optional<double> error;                           // predicted / measured - 1
  // What datasheet figures alone would say, in the same unit: of kernels, and of steps on one GPU.
  std::optional<double> roofline{};
  std::optional<StepParts> parts;            // of whole steps
  std::optional<AlgorithmChoice> algorithm;  // where the record names a convolution's
  std::optional<PricedAs> priced_as{};       // of one kernel
  std::optional<Gap> gap{};                  // where the record measured parts of it too
  std::string skipped;                       // the reason; empty where predicted
};

}  // namespace plimsoll
