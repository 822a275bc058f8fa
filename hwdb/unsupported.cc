#include "hwdb/unsupported.h"

#include <algorithm>
#include <vector>

#include "graph/base/try.h"
#include "graph/json/read_object.h"
#include "hwdb/hwdb.h"

namespace plimsoll {
namespace {

constexpr std::string_view kUnsupportedFile = "unsupported.json";

// Lower-case words of letters and digits.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (upper || plain) {
      words.back() += upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

// "tpu*" is every word that begins so.
bool is_meant(const std::string& word, std::string_view pattern) {
  if (!pattern.ends_with('*')) return word == pattern;
  return word.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

Result<std::optional<UnsupportedKind>> find_unsupported(const Hwdb& hwdb, std::string_view name) {
  const auto text = TRY(hwdb.read(kUnsupportedFile));
  const std::vector<std::string> words = words_of(name);
  return read_object(text, kUnsupportedFile, [&](JsonObject& root) {
    root.schema("plimsoll.unsupported", 1);
    std::optional<UnsupportedKind> found;
    for (const JsonValue& row : root.required_list("kinds")) {
      JsonObject kind(row, root.file(), root.faults());
      UnsupportedKind read{kind.required_string("what"), kind.required_string("why")};
      const std::vector<std::string> patterns = kind.required_strings("words");
      kind.finish();
      const bool meant = std::ranges::any_of(patterns, [&](const std::string& pattern) {
        return std::ranges::any_of(words,
                                   [&](const std::string& w) { return is_meant(w, pattern); });
      });
      if (meant && !found) found = std::move(read);
    }
    return found;
  });
}

}  // namespace plimsoll
