#include "estimator/app/explain/transfer.h"

#include "estimator/time/exchange.h"
#include "estimator/time/step_conditions.h"

namespace plimsoll {

Transfer transfer_over(const Link& link, const Host& host, int64_t bytes, int64_t gpus) {
  constexpr int64_t kTwo = 2;
  const auto amount = static_cast<double>(bytes);
  Transfer transfer;
  transfer.link = link.id;
  transfer.measured_gpus = link.points.back().gpus;
  const LinkPoint& pair = link.point(kTwo);
  transfer.one_ns = to_ns(pair.latency.value / kTwo + amount / pair.bus_bandwidth.value);
  const ExchangeRates rates = exchange_rates(&link, gpus, host);
  for (const ExchangeScheme& scheme : exchange_schemes()) {
    if (link.kind == "network" && scheme.name != "ring") continue;
    const ExchangeGroup group{.per_node = gpus};
    transfer.exchange.push_back(
        {scheme.name, to_ns(exchange_seconds(scheme, amount, group, rates))});
  }
  return transfer;
}

}  // namespace plimsoll
