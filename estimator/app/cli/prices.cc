#include "estimator/app/cli/prices.h"

#include <fmt/format.h>

#include <set>

#include "estimator/settings/values.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"

namespace plimsoll::cli {

Result<std::map<std::string, double>> parse_prices(const std::vector<std::string>& prices,
                                                   const std::vector<std::string>& compared,
                                                   const Hwdb& hwdb) {
  constexpr double kHighest = 1e6;
  std::set<std::string> ids;
  for (const std::string& name : compared) {
    if (auto device = hwdb.device(name); device) ids.insert(device->id);
  }
  std::map<std::string, double> by_id;
  for (const std::string& text : prices) {
    const auto pair = TRY(parse_assignment(setting("price"), text));
    const auto device = TRY(hwdb.device(pair.first));
    const auto price =
        TRY(parse_real(setting_entry("price", pair.first), pair.second, 0, kHighest));
    if (!ids.contains(device.id)) {
      return error("E118", fmt::format("--price {}: no answer is for that GPU",
                                       shortened(pair.first, kQuotedColumns)));
    }
    if (!by_id.emplace(device.id, price).second) {
      return error("E114", setting_entry("price", shortened(pair.first, kQuotedColumns)) +
                               " is given twice");
    }
  }
  return by_id;
}

}  // namespace plimsoll::cli
