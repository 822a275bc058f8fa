#include "estimator/app/cli/read_request.h"

#include <fmt/format.h>

#include "graph/base/escape.h"
#include "graph/base/setting.h"

namespace plimsoll::cli {

Result<Request> to_request(const SharedFlags& flags) {
  for (const auto& [name, given] : flags.verb_values) {
    for (const std::string& value : given) {
      if (value == given.front()) continue;
      return error("E114", fmt::format("{} is given twice: {} and {}", setting(name),
                                       shortened(given.front(), 60), shortened(value, 60)));
    }
  }
  return plimsoll::to_request(static_cast<const GivenSettings&>(flags));
}

}  // namespace plimsoll::cli
