#include "estimator/memory/allocator/static_planner.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace plimsoll {
namespace {

constexpr int64_t kMatchRange = 16;  // NNVM_EXEC_MATCH_RANGE: serves 1/16 to 16 times its size

}  // namespace

// A storage grows to the largest tensor it ever holds. Larger free storages are preferred, the
// nearest first; then smaller ones, the nearest first.
int64_t planned_bytes(const std::vector<PlannedTensor>& tensors) {
  std::vector<int64_t> storages;
  std::multimap<int64_t, size_t> free;
  std::multimap<int32_t, size_t> dying;  // by position
  for (const PlannedTensor& tensor : tensors) {
    while (!dying.empty() && dying.begin()->first <= tensor.born) {
      const size_t storage = dying.begin()->second;
      free.emplace(storages[storage], storage);
      dying.erase(dying.begin());
    }
    auto at = free.lower_bound(tensor.bytes);
    if (at == free.end() || at->first > tensor.bytes * kMatchRange) {
      const bool smaller = at != free.begin() && std::prev(at)->first >= tensor.bytes / kMatchRange;
      at = smaller ? std::prev(at) : free.end();
    }
    size_t storage = storages.size();
    if (at == free.end()) {
      storages.push_back(tensor.bytes);
    } else {
      storage = at->second;
      free.erase(at);
      storages[storage] = std::max(storages[storage], tensor.bytes);
    }
    dying.emplace(tensor.dies, storage);
  }
  return std::accumulate(storages.begin(), storages.end(), int64_t{0});
}

}  // namespace plimsoll
