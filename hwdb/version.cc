#include "hwdb/version.h"

#include <algorithm>
#include <charconv>

namespace plimsoll {

bool operator<(const Version& a, const Version& b) {
  for (size_t i = 0; i < std::max(a.numbers.size(), b.numbers.size()); ++i) {
    const int left = i < a.numbers.size() ? a.numbers[i] : 0;
    const int right = i < b.numbers.size() ? b.numbers[i] : 0;
    if (left != right) return left < right;
  }
  return false;
}

std::string Version::text() const {
  std::string out;
  for (const int number : numbers) out += (out.empty() ? "" : ".") + std::to_string(number);
  return out;
}

std::optional<Version> parse_version(std::string_view text) {
  Version version;
  const char* at = text.data();
  const char* end = text.data() + text.size();
  while (at != end) {
    int number = 0;
    const auto [stop, fault] = std::from_chars(at, end, number);
    if (fault != std::errc() || number < 0) break;
    version.numbers.push_back(number);
    if (stop == end || *stop != '.') break;
    at = stop + 1;
  }
  if (version.numbers.empty()) return std::nullopt;
  return version;
}

}  // namespace plimsoll
