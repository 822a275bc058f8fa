// Whether a word is one of a list of words.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

namespace plimsoll {

inline bool among(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace plimsoll
