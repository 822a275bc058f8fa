// The attributes of a node, typed. Small: a node has a handful, so a sorted vector serves.
//
// A tensor as attribute (ConstantOfShape's `value`) is flattened: NAME holds its contents, as
// int64_t or double where it has one element and as a vector where it has more, if it is small
// enough to be kept, and NAME_dtype its element type in ONNX's numbering (dtype_from_onnx).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace plimsoll {

using AttributeValue = std::variant<int64_t, double, std::string, std::vector<int64_t>,
                                    std::vector<double>, std::vector<std::string>>;

class Attributes {
 public:
  void set(std::string name, AttributeValue value) {
    const auto at = lower_bound(name);
    if (at != entries_.end() && at->first == name) {
      at->second = std::move(value);
    } else {
      entries_.insert(at, {std::move(name), std::move(value)});
    }
  }
  // Removes those for whose name `unwanted` is true.
  template <class Unwanted>
  void erase_if(Unwanted unwanted) {
    std::erase_if(entries_, [&](const auto& entry) { return unwanted(entry.first); });
  }
  // Null where it is absent or of another type.
  template <class T>
  const T* get(std::string_view name) const {
    const auto at = lower_bound(name);
    return at != entries_.end() && at->first == name ? std::get_if<T>(&at->second) : nullptr;
  }
  bool has(std::string_view name) const {
    const auto at = lower_bound(name);
    return at != entries_.end() && at->first == name;
  }
  int64_t integer(std::string_view name, int64_t otherwise) const {
    const auto* value = get<int64_t>(name);
    return value ? *value : otherwise;
  }
  double real(std::string_view name, double otherwise) const {
    const auto* value = get<double>(name);
    return value ? *value : otherwise;
  }
  std::string string(std::string_view name, std::string_view otherwise) const {
    const auto* value = get<std::string>(name);
    return value ? *value : std::string(otherwise);
  }
  std::vector<int64_t> integers(std::string_view name) const {
    const auto* value = get<std::vector<int64_t>>(name);
    return value ? *value : std::vector<int64_t>{};
  }
  const std::vector<std::pair<std::string, AttributeValue>>& entries() const { return entries_; }

 private:
  using Entries = std::vector<std::pair<std::string, AttributeValue>>;
  Entries::const_iterator lower_bound(std::string_view name) const {
    return std::lower_bound(
        entries_.begin(), entries_.end(), name,
        [](const auto& entry, std::string_view key) { return entry.first < key; });
  }
  Entries::iterator lower_bound(std::string_view name) {
    return std::lower_bound(
        entries_.begin(), entries_.end(), name,
        [](const auto& entry, std::string_view key) { return entry.first < key; });
  }
  Entries entries_;
};

}  // namespace plimsoll
