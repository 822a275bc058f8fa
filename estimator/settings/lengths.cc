#include "estimator/settings/lengths.h"

#include <fmt/format.h>

#include "estimator/settings/values.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

constexpr int64_t kLongestSample = int64_t{1} << 31;
constexpr size_t kBuckets = 256;  // each costs an estimate

// "128:0.25"
Result<LengthBucket> parse_bucket(const std::string& name, std::string_view text) {
  const std::string flag = setting_entry("lengths", shortened(name, 60));
  const size_t colon = text.find(':');
  const auto length = TRY(parse_count(flag, text.substr(0, colon), 1, kLongestSample));
  LengthBucket bucket{.sizes = {{name, length}}};
  if (colon == text.npos) return bucket;
  const auto share = TRY(parse_real(flag + ": a share", text.substr(colon + 1), 1e-9, 1e9));
  bucket.share = share;
  return bucket;
}

}  // namespace

Result<void> add_lengths(const std::string& name, std::string_view text,
                         std::vector<LengthBucket>& buckets) {
  std::vector<LengthBucket> own;
  for (const std::string_view part : split(text, ',')) {
    auto bucket = TRY(parse_bucket(name, part));
    own.push_back(std::move(bucket));
    if (own.size() > kBuckets)
      return error("E115", fmt::format("{} takes at most {} lengths", setting("lengths"), kBuckets),
                   {}, "round them: batches of about the same length take about the same time");
  }
  if (buckets.empty()) {
    buckets = std::move(own);
    return {};
  }
  const std::string shown = setting_entry("lengths", shortened(name, 60));
  if (buckets.front().sizes.contains(name)) return error("E114", shown + " is given twice");
  bool pairs = own.size() == buckets.size();
  for (size_t i = 0; pairs && i < own.size(); ++i) pairs = own[i].share == buckets[i].share;
  if (!pairs) {
    return error(
        "E115",
        fmt::format("{} does not pair with {}", shown,
                    setting_entry("lengths", shortened(buckets.front().sizes.begin()->first, 60))),
        {}, "give both the same number of lengths, with the same shares in the same order");
  }
  for (size_t i = 0; i < own.size(); ++i) buckets[i].sizes.merge(own[i].sizes);
  return {};
}

}  // namespace plimsoll
