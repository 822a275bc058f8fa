// What a sweep comes to on each GPU: how many configurations fit, and what running those takes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "estimator/app/report/page.h"
#include "estimator/app/sweep/sweep.h"
#include "graph/json/fields.h"

namespace plimsoll {

struct SweepGpu {
  std::string device_id;
  int64_t failed = 0;
  std::array<int64_t, 3> by_verdict{};
  // Of the configurations whose point estimate fits: one pass over the data, or
  // all epochs. Nothing where the number of samples is not known for one of them.
  std::optional<double> gpu_hours = 0.0;
  std::optional<double> price{};  // of those hours
};
void describe(Fields& f, SweepGpu& gpu);

class SweepGpus {
 public:
  SweepGpus() = default;
  // `prices`: of an hour, by the device's id.
  explicit SweepGpus(std::map<std::string, double> prices) : prices_(std::move(prices)) {}

  // `gpus`: how many the configuration runs on.
  void add(const SweepPoint& point, int64_t gpus);
  // By id.
  std::vector<SweepGpu> all() const;

 private:
  std::map<std::string, double> prices_;
  std::map<std::string, SweepGpu> gpus_;
};

// A table, and what the whole sweep takes; empty for one GPU without a price.
std::string to_text(const std::vector<SweepGpu>& gpus, const Page& page = {});

}  // namespace plimsoll
