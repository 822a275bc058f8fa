#include "hwdb/mig.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/base/escape.h"

namespace plimsoll {
namespace {

tl::unexpected<Diagnostics> no_such(const Device& card, std::string_view profile) {
  const std::string quoted = shortened(profile, 40);
  if (card.mig.empty()) {
    return error("E148",
                 fmt::format("{} cannot be partitioned, \"{}\" is no part of it", card.id, quoted));
  }
  std::vector<std::string> names;
  for (const MigProfile& known : card.mig) names.push_back(known.name);
  return error("E148", fmt::format("{} has no MIG profile \"{}\"", card.id, quoted), {},
               fmt::format("it has {}", fmt::join(names, ", ")));
}

}  // namespace

Result<Device> mig_slice(const Device& card, std::string_view profile) {
  const std::string_view plain = profile.substr(0, profile.find('+'));
  const auto found = std::ranges::find(card.mig, plain, &MigProfile::name);
  if (found == card.mig.end()) return no_such(card, profile);
  Device slice = card;
  const double share =
      static_cast<double>(found->memory_slices) / static_cast<double>(card.mig_memory_slices);
  const double units = static_cast<double>(found->sms) / static_cast<double>(card.sms);
  slice.id = fmt::format("{}:{}", card.id, found->name);
  slice.name = fmt::format("{} MIG {}", card.name, found->name);
  slice.aliases.clear();
  slice.names.clear();
  slice.mig.clear();
  slice.origin = fmt::format("MIG {} of {}: {} of {} SMs, {} of {} parts of the memory's bandwidth",
                             found->name, card.id, found->sms, card.sms, found->memory_slices,
                             card.mig_memory_slices);
  slice.sms = found->sms;
  slice.cuda_cores = card.cuda_cores / card.sms * found->sms;
  slice.memory = slice.memory_reported = found->memory;
  slice.bandwidth = card.bandwidth * share;
  slice.l2 = Bytes{static_cast<int64_t>(static_cast<double>(card.l2.value) * share)};
  slice.nvlink_generation = slice.nvlink_links = 0;  // no peer reaches a part of a card
  for (auto& peak : slice.peaks) peak.second.rate = peak.second.rate * units;
  return slice;
}

}  // namespace plimsoll
