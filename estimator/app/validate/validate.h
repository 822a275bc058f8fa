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

#include "estimator/app/validate/line.h"
#include "estimator/request/request.h"
#include "graph/json/fields.h"
#include "hwdb/calibration.h"
#include "hwdb/hwdb.h"
#include "hwdb/measured/run.h"

namespace plimsoll {

struct ValidationSummary {
  std::string kind, device, op, pass, quantity;
  int64_t n = 0, skipped = 0;
  std::optional<double> mape, median_ape, p90_ape, bias, within_range;
};

inline void describe(Fields& f, ValidationSummary& s) {
  f("kind", s.kind);
  f("device", s.device, {.null_where = s.device.empty()});
  f("op", s.op, {.null_where = s.op.empty()});
  f("pass", s.pass, {.null_where = s.pass.empty()});
  f("quantity", s.quantity, {.null_where = s.quantity.empty()});
  f("n", s.n);
  f("skipped", s.skipped);
  f("mape", s.mape);
  f("median_ape", s.median_ape);
  f("p90_ape", s.p90_ape);
  f("bias", s.bias);
  f("within_range", s.within_range);
}

// Predicts many records; remembers what it compiled, since records share models and devices.
class Validator {
 public:
  // `base`: flags of the command that hold for all records.
  Validator(const Hwdb& hwdb, Request base, Calibrations calibrations = Calibrations::shipped());
  ~Validator();
  // `file` is the name lines give. `asked`: what a run of a model ran, where not the record but the
  // user says it; one GPU and a batch are named in it.
  std::vector<ValidationLine> answer(const MeasuredRun& run, const std::string& file,
                                     const Request* asked = nullptr);

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
