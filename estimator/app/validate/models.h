// Predictions for measured runs of whole models: kinds "model", "memory" and "scaling".
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "estimator/app/validate/line.h"
#include "estimator/request/request.h"
#include "hwdb/hwdb.h"
#include "hwdb/measured/run.h"

namespace plimsoll {

class ModelPredictor {
 public:
  ModelPredictor(const Hwdb& hwdb, Request base);
  ~ModelPredictor();
  // One line per measured quantity of the record; `blank` has what all of them share. `asked`, with
  // a batch, is the run's request; without it the record says what it ran.
  std::vector<ValidationLine> answer(const MeasuredRun& run, const ValidationLine& blank,
                                     const Request* asked = nullptr);

 private:
  // For "largest_batch_that_fits", the record's batch being the figure.
  ValidationLine largest_batch_line(const MeasuredRun& run, ValidationLine line);
  // Samples a second at the first batch over those at the second.
  ValidationLine ratio_line(const MeasuredRun& run, ValidationLine line,
                            const std::array<int64_t, 2>& batches);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
