#include "hwdb/releases.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/base/text.h"
#include "graph/base/try.h"
#include "graph/json/read_object.h"

namespace plimsoll {
namespace {

constexpr std::string_view kReleasesFile = "releases.json";

using Release = std::pair<int, int>;  // major, minor

Release release_of(const Version& version) {
  const auto part = [&](size_t i) { return i < version.numbers.size() ? version.numbers[i] : 0; };
  return {part(0), part(1)};
}

std::string text_of(const Release& release) {
  return std::to_string(release.first) + "." + std::to_string(release.second);
}

std::vector<Release> releases_in(std::string_view words) {
  std::vector<Release> releases;
  while (!words.empty()) {
    if (const auto version = parse_version(take_part(words, ' ')))
      releases.push_back(release_of(*version));
  }
  std::ranges::sort(releases);
  return releases;
}

Result<std::vector<Release>> read_releases(const Hwdb& hwdb, std::string_view product) {
  const auto text = TRY(hwdb.read(kReleasesFile));
  return read_object(text, kReleasesFile, [&](JsonObject& root) {
    root.schema("plimsoll.releases", 1);
    std::vector<Release> found;
    for (const JsonValue& each : root.required_list("products")) {
      JsonObject entry(each, root.file(), root.faults());
      entry.required_string("source");
      const std::string name = entry.required_string("product");
      const std::string words = entry.required_string("releases");
      if (name == product) found = releases_in(words);
      entry.finish();
    }
    return found;
  });
}

}  // namespace

Result<ReleaseFact> find_release(const Hwdb& hwdb, std::string_view product,
                                 const Version& version) {
  const auto known = TRY(read_releases(hwdb, product));
  if (known.empty()) return ReleaseFact{};
  const Release asked = release_of(version);
  const bool any_minor = version.numbers.size() == 1;
  const bool listed = std::ranges::any_of(
      known, [&](const Release& r) { return r == asked || (any_minor && r.first == asked.first); });
  if (listed) return ReleaseFact{};
  const Release newest = known.back();
  const auto above = std::ranges::lower_bound(known, asked);
  const Release nearest = above == known.begin() ? *above : *std::prev(above);
  const bool newer = asked > newest && asked.first <= newest.first + 1;
  return ReleaseFact{newer ? ReleaseState::kNewer : ReleaseState::kUnknown, text_of(newest),
                     text_of(nearest)};
}

}  // namespace plimsoll
