// Versions as people write them: "1.13.1+cu117", "2.2.0", "8.9.7".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// Numbers, compared one by one; missing ones are 0.
struct Version {
  std::vector<int> numbers;
  // "1.13.1"
  std::string text() const;
  friend bool operator==(const Version& a, const Version& b) { return !(a < b) && !(b < a); }
  friend bool operator<(const Version& a, const Version& b);
};

// The leading numbers of a text; a letter, '+' or '_' after them ends it ("0.9.0rc1" is 0.9.0).
// Nothing where it does not start with a number.
std::optional<Version> parse_version(std::string_view text);

}  // namespace plimsoll
