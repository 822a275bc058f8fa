// Paths of modules and of what they own: "features.1.0.attn.relative_position_index".
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "graph/base/text.h"

namespace plimsoll {

// "attn" of "features.1.0.attn".
inline std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('.') + 1);  // npos + 1 is 0
}

// "features.1.0.attn" of "features.1.0.attn.relative_position_index".
inline std::string_view module_of(std::string_view name) {
  return name.substr(0, std::min(name.rfind('.'), name.size()));
}

// "0" of "layer1.0": how repeated modules are called.
inline bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "layer1", "layer1.0" and "conv1" of "/layer1/layer1.0/conv1".
inline std::vector<std::string_view> parts_between(char separator, std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::string_view part = take_part(text, separator);
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

}  // namespace plimsoll
