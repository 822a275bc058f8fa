#include "estimator/app/explain/scaling.h"

#include <fmt/format.h>

#include "estimator/estimator.h"
#include "estimator/request/find_platform.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

bool has_data(const Hwdb& hwdb, const Request& request, int64_t per_node) {
  const auto platform = find_platform(hwdb, request, request.devices.front());
  return !platform || !platform->link || per_node <= platform->link->points.back().gpus;
}

}  // namespace

Result<ScalingTrade> scaling(const Request& request, const Hwdb& hwdb, int64_t first,
                             int64_t last) {
  ScalingTrade trade;
  Request alone = request;
  alone.gpu_count = alone.nodes = 1;
  const auto one = TRY(estimate(alone, hwdb));
  for (int64_t per_node = first; per_node <= last; ++per_node) {
    Request at = request;
    at.gpu_count = per_node * request.nodes;
    const auto e = TRY(estimate(at, hwdb));
    const double all = static_cast<double>(at.gpu_count) * one.time.samples_per_second;
    trade.points.push_back({.gpus = at.gpu_count,
                            .step_ns = e.time.step_ns,
                            .communication_ns = e.time.communication_ns,
                            .samples_per_second = e.time.samples_per_second,
                            .efficiency = all > 0 ? e.time.samples_per_second / all : 0,
                            .exchange_leads = 2 * e.time.communication_ns > e.time.step_ns,
                            .beyond_link_data = !has_data(hwdb, at, per_node)});
    trade.device_id = e.device_id;
    trade.batch = e.input.batch;
    trade.notes = {
        .request = request, .assumed = e.assumed, .basis = e.basis, .diagnostics = e.diagnostics};
  }
  const JsonValue counts{.data = fmt::format("{}..{}", first, last)};
  trade.notes.ranges.emplace_back("gpus", counts);
  trade.notes.request.given.emplace("gpus");
  return trade;
}

}  // namespace plimsoll
