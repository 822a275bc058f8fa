// The same step on 1, 2, ... GPUs: what more of them bring, and where their exchange takes over.
#pragma once

#include <cstdint>
#include <vector>

#include "estimator/answer/answer_notes.h"
#include "estimator/request/request.h"
#include "graph/json/fields.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

struct ScalingPoint {
  int64_t gpus = 1;
  int64_t step_ns = 0, communication_ns = 0;
  double samples_per_second = 0;
  double efficiency = 1;
  bool exchange_leads = false, beyond_link_data = false;
};

inline void describe(Fields& f, ScalingPoint& p) {
  f("gpus", p.gpus, "of all machines");
  f("step_ns", p.step_ns);
  f("communication_ns", p.communication_ns, "that the step waits for");
  f("samples_per_second", p.samples_per_second, {.low = 0});
  f("efficiency", p.efficiency, {.meaning = "of as many times one GPU's throughput", .low = 0});
  f("exchange_leads", p.exchange_leads, "more than half of the step waits for the exchange");
  f("beyond_link_data", p.beyond_link_data, "nobody measured the link with so many");
}

struct ScalingTrade {
  std::string device_id;
  int64_t batch = 0;  // of each GPU
  std::vector<ScalingPoint> points;
  AnswerNotes notes;  // of the largest number of GPUs
};
inline void describe(Fields& f, ScalingTrade& t) {
  f("device_id", t.device_id);
  f("batch", t.batch, "of each GPU");
  f("points", t.points, {.least = 1});
}

// Each number of GPUs per machine from `first` to `last`, those of --nodes machines each. Cost: an
// estimate a point.
Result<ScalingTrade> scaling(const Request& request, const Hwdb& hwdb, int64_t first, int64_t last);

}  // namespace plimsoll
