// validate(): measured runs against predictions. Every record gives at least one line: predicted,
// or skipped with a reason; none is dropped.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "estimator/request.h"
#include "estimator/time/kernel_time.h"
#include "hwdb/calibration.h"
#include "hwdb/hwdb.h"
#include "hwdb/measured_run.h"

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
  std::string skipped;                       // the reason; empty where predicted
};

struct ValidationSummary {
  std::string kind, device, op, pass, quantity;
  int64_t n = 0, skipped = 0;
  std::optional<double> mape, median_ape, p90_ape, bias, within_range;
};

// Predicts many records; remembers what it compiled, since records share models and devices.
class Validator {
 public:
  // `base`: flags of the command that hold for all records.
  Validator(const Hwdb& hwdb, Request base, Calibrations calibrations = Calibrations::shipped());
  ~Validator();
  // `file` is the name lines give.
  std::vector<ValidationLine> answer(const MeasuredRun& run, const std::string& file);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Lines with their error filled in, grouped by kind, device, op, pass and quantity. Keeps eight
// bytes of each, for medians: lines come by the million.
class Summaries {
 public:
  void add(const ValidationLine& line);
  std::vector<ValidationSummary> take();

 private:
  struct Group {
    std::deque<double> errors;  // which grows without a second copy
    int64_t predicted = 0, skipped = 0, inside = 0, ranged = 0;
  };
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  static ValidationSummary sum_up(const Key& key, Group& group);
  std::map<Key, Group> groups_;
};

}  // namespace plimsoll
