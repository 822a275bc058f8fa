#include "estimator/request/lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace plimsoll {
std::string listed(const Binding& sizes) {
  std::string list;
  for (const auto& [symbol, size] : sizes)
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", symbol, size);
  return list;
}

Request at_longest(Request request) {
  Binding longest;
  for (const LengthBucket& bucket : request.lengths) {
    for (const auto& [symbol, size] : bucket.sizes)
      longest[symbol] = std::max(longest[symbol], size);
  }
  for (const auto& [symbol, size] : request.longest) longest[symbol] = size;
  for (const auto& [symbol, size] : longest) request.dims[symbol] = size;
  request.longest.clear();
  request.lengths.clear();
  return request;
}

Request at_bucket(Request request, const LengthBucket& bucket) {
  for (const auto& [symbol, size] : bucket.sizes) request.dims[symbol] = size;
  request.longest.clear();
  request.lengths = {bucket};
  return request;
}

}  // namespace plimsoll
