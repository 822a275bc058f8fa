#include "estimator/memory/allocator/static_planner.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "estimator/memory/allocator/block_list.h"

namespace plimsoll {
namespace {

bool overlap(const PlannedTensor& a, const PlannedTensor& b) {
  return a.born < b.dies && b.born < a.dies;
}

int64_t sum(const std::vector<PlannedTensor>& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), int64_t{0},
                         [](int64_t total, const auto& t) { return total + t.bytes; });
}

// A storage grows to the largest tensor it ever holds. Larger free storages are preferred, the
// nearest first; then smaller ones, the nearest first.
int64_t nnvm(const std::vector<PlannedTensor>& tensors, int64_t range) {
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
    if (at == free.end() || at->first > tensor.bytes * range) {
      const bool smaller = at != free.begin() && std::prev(at)->first >= tensor.bytes / range;
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

std::vector<PlannedTensor> largest_first(std::vector<PlannedTensor> tensors) {
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return tensors;
}

int64_t sharing(const std::vector<PlannedTensor>& tensors) {
  std::vector<std::vector<PlannedTensor>> buffers;
  int64_t total = 0;
  for (const PlannedTensor& tensor : largest_first(tensors)) {
    const auto idle = std::find_if(buffers.begin(), buffers.end(), [&](const auto& held) {
      return std::none_of(held.begin(), held.end(),
                          [&](const auto& other) { return overlap(tensor, other); });
    });
    if (idle != buffers.end()) {
      idle->push_back(tensor);
    } else {
      buffers.push_back({tensor});
      total += tensor.bytes;
    }
  }
  return total;
}

int64_t offsets(const std::vector<PlannedTensor>& tensors) {
  struct Placed {
    int64_t offset;
    PlannedTensor tensor;
  };
  std::vector<Placed> placed;  // sorted by offset
  int64_t total = 0;
  for (const PlannedTensor& tensor : largest_first(tensors)) {
    int64_t offset = 0;
    for (const Placed& other : placed) {
      if (!overlap(tensor, other.tensor)) continue;
      if (other.offset - offset >= tensor.bytes) break;
      offset = std::max(offset, other.offset + other.tensor.bytes);
    }
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offset,
                                   [](int64_t o, const Placed& p) { return o < p.offset; }),
                  {offset, tensor});
    total = std::max(total, offset + tensor.bytes);
  }
  return total;
}

}  // namespace

int64_t planned_bytes(const std::vector<PlannedTensor>& tensors, const StaticRules& rules) {
  std::vector<PlannedTensor> rounded = tensors;
  for (PlannedTensor& tensor : rounded) tensor.bytes = round_up(tensor.bytes, rules.granule);
  switch (rules.strategy) {
    case StaticRules::Strategy::kNone:
      return sum(rounded);
    case StaticRules::Strategy::kNnvm:
      return nnvm(rounded, rules.match_range);
    case StaticRules::Strategy::kSharing:
      return sharing(rounded);
    case StaticRules::Strategy::kOffsets:
      return offsets(rounded);
  }
  return sum(rounded);
}

}  // namespace plimsoll
