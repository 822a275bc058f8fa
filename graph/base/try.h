// TRY: the value of a Result, or the function returns its error.
//
//   const auto text = TRY(read_text(path));  // a std::string
//   TRY(file.append(line));                  // of a Result<void>
//
// A statement's expression as GCC and Clang have it: nothing else can both return and have a value.
#pragma once

#include <type_traits>
#include <utility>

#include "graph/base/diagnostic.h"

namespace plimsoll {

template <class T>
T value_of(tl::expected<T, Diagnostics>&& result) {
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}
template <class T>
T value_of(const tl::expected<T, Diagnostics>& result) {
  if constexpr (!std::is_void_v<T>) return *result;
}

}  // namespace plimsoll

#define TRY(...)                                                                \
  __extension__({                                                               \
    auto&& try_result = (__VA_ARGS__);                                          \
    if (!try_result) return tl::make_unexpected(std::move(try_result).error()); \
    ::plimsoll::value_of(std::forward<decltype(try_result)>(try_result));       \
  })
