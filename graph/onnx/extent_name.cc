#include "graph/onnx/extent_name.h"

#include <array>

#include "graph/base/among.h"
#include "graph/base/text.h"

namespace plimsoll::onnx {

bool is_called_batch(std::string_view symbol) {
  const std::string name = lower_case(symbol);
  return name.find("batch") != name.npos || name == "bs" || name == "bsz";
}

bool may_be_batch(std::string_view symbol) {
  const std::string name = lower_case(symbol);
  return name == "n" || name == "b";
}

bool is_called_sequence(std::string_view symbol) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "t", "s", "l", "time", "times", "steps", "length", "frames", "tokens"};
  const std::string name = lower_case(symbol);
  return name.find("seq") != name.npos || name.find("time") != name.npos || among(name, kNames);
}

bool is_numbered(std::string_view symbol) {
  static constexpr std::array<std::string_view, 9> kStems = {
      "s", "u", "d", "dim", "unk", "unknown", "axis", "sym", "dynamic_axes"};
  const std::string name = lower_case(symbol);
  const size_t end = name.find_last_not_of("0123456789");
  if (end == name.npos || end + 1 == name.size()) return false;
  std::string_view stem = std::string_view(name).substr(0, end + 1);
  while (stem.ends_with('_')) stem.remove_suffix(1);
  while (stem.starts_with('_')) stem.remove_prefix(1);
  return among(stem, kStems) || stem.ends_with("_dynamic_axes") || stem.ends_with("_dim");
}

}  // namespace plimsoll::onnx
