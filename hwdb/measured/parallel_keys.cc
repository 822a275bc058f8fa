#include "hwdb/measured/parallel_keys.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "graph/base/text.h"

namespace plimsoll {
namespace {

constexpr std::string_view kData = "dp=", kShard = "fsdp=", kExperts = "ep=";

// Of "tp=2,dp=8" with 4 along "dp=": "tp=2,dp=4".
std::string with_ranks(std::string_view axes, std::string_view along, int64_t ranks) {
  std::string text;
  while (!axes.empty()) {
    const std::string_view axis = take_part(axes, ',');
    const bool named = axis.starts_with(along);
    if (named && ranks == 1) continue;
    if (!text.empty()) text += ',';
    text += named ? fmt::format("{}{}", along, ranks) : std::string(axis);
  }
  return text;
}

std::optional<int64_t> ranks_of(std::string_view axes, std::string_view along) {
  while (!axes.empty()) {
    const std::string_view axis = take_part(axes, ',');
    if (axis.starts_with(along)) return parse_number<int64_t>(axis.substr(along.size()));
  }
  return std::nullopt;
}

// Those that share experts are among ranks with samples of their own. FSDP that shares over all
// of these is asked for without a number.
void settle_experts(MeasuredRun& run) {
  const auto experts = ranks_of(run.parallel, kExperts);
  if (!experts) return;
  for (const std::string_view along : {kShard, kData}) {
    const auto ranks = ranks_of(run.parallel, along);
    if (!ranks || *experts < 1 || *ranks % *experts != 0) continue;
    run.parallel = with_ranks(run.parallel, along, *ranks / *experts);
    if (along == kShard && *ranks == *experts) run.parallel = "fsdp=all," + run.parallel;
    return;
  }
}

void settle_groups(MeasuredRun& run) {
  const auto replicas = ranks_of(run.parallel, kData);
  if (!run.zero_group || *run.zero_group < 1 || !replicas) return;
  if (run.parallel.find("fsdp=") != std::string::npos || *replicas % *run.zero_group != 0) return;
  run.parallel = with_ranks(run.parallel, kData, *replicas / *run.zero_group);
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
  settle_experts(run);
}

}  // namespace plimsoll
