#include "hwdb/measured/parallel_keys.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "graph/base/text.h"

namespace plimsoll {
namespace {

constexpr std::string_view kData = "dp=";

// Of "tp=2,dp=8" with 4 for dp: "tp=2,dp=4".
std::string with_replicas(std::string_view axes, int64_t replicas) {
  std::string text;
  while (!axes.empty()) {
    const std::string_view axis = take_part(axes, ',');
    const bool data = axis.starts_with(kData);
    if (data && replicas == 1) continue;
    if (!text.empty()) text += ',';
    text += data ? fmt::format("{}{}", kData, replicas) : std::string(axis);
  }
  return text;
}

std::optional<int64_t> replicas_of(std::string_view axes) {
  while (!axes.empty()) {
    const std::string_view axis = take_part(axes, ',');
    if (axis.starts_with(kData)) return parse_number<int64_t>(axis.substr(kData.size()));
  }
  return std::nullopt;
}

void settle_groups(MeasuredRun& run) {
  const auto replicas = replicas_of(run.parallel);
  if (!run.zero_group || *run.zero_group < 1 || !replicas) return;
  if (run.parallel.find("fsdp=") != std::string::npos || *replicas % *run.zero_group != 0) return;
  run.parallel = with_replicas(run.parallel, *replicas / *run.zero_group);
}

}  // namespace

void take_parallel(const JsonValue& object, MeasuredRun& run) {
  run.parallel.clear();
  for (const JsonMember& axis : *object.members()) {
    const auto ranks = axis.value.integer();
    if (ranks == 1) continue;
    if (!run.parallel.empty()) run.parallel += ',';
    run.parallel += ranks ? fmt::format("{}={}", axis.key, *ranks) : axis.key;
  }
  settle_groups(run);
}

}  // namespace plimsoll
