#include "estimator/settings/agreement.h"

#include <fmt/format.h>

#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"

namespace plimsoll {
namespace {

std::string entry(std::string_view flag, const std::string& name, const std::string& value = {}) {
  return setting_entry(flag, shortened(name, 60), value.empty() ? value : shortened(value, 60));
}

// `size`: that the largest batch has at least.
Result<void> check_longest(const ModelRequest& request, const std::string& name, int64_t size,
                           const std::string& given_by) {
  const auto longest = request.longest.find(name);
  if (longest == request.longest.end() || longest->second >= size) return {};
  return error("E114",
               fmt::format("{} is shorter than {}",
                           entry("longest", name, std::to_string(longest->second)), given_by));
}

}  // namespace

Result<void> check_agreement(const ModelRequest& request) {
  for (const auto& [name, size] : request.dims) {
    const std::string dim = entry("dim", name, std::to_string(size));
    if (!request.lengths.empty() && request.lengths.front().sizes.contains(name)) {
      return error("E114", fmt::format("{} and {} exclude each other", entry("dim", name),
                                       entry("lengths", name)));
    }
    const auto set = request.settings.find(name);
    if (set != request.settings.end() && parse_number<int64_t>(set->second) != size) {
      return error("E114", fmt::format("{} and {} contradict each other", dim,
                                       entry("set", name, set->second)));
    }
    if (auto good = check_longest(request, name, size, dim); !good) return good;
  }
  for (const LengthBucket& bucket : request.lengths) {
    for (const auto& [name, size] : bucket.sizes) {
      const std::string given_by = fmt::format("{} of {}", size, entry("lengths", name));
      if (auto good = check_longest(request, name, size, given_by); !good) return good;
    }
  }
  const auto set = request.settings.find("batch");
  if (request.batch && set != request.settings.end() &&
      parse_number<int64_t>(set->second) != *request.batch) {
    return error("E114", fmt::format("{} and {} contradict each other",
                                     setting("batch", std::to_string(*request.batch)),
                                     entry("set", "batch", set->second)));
  }
  return {};
}

}  // namespace plimsoll
