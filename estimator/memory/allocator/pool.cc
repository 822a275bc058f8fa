#include "estimator/memory/allocator/pool.h"

#include <algorithm>

#include "estimator/memory/allocator/block_list.h"

namespace plimsoll {

int64_t PoolRules::rounded(int64_t bytes) const {
  const int64_t pages = round_up(bytes, page);
  return pages > large_granule ? round_up(pages, large_granule) : pages;
}

PoolAllocator::PoolAllocator(const PoolRules& rules, int64_t capacity)
    : rules_(rules), capacity_(capacity) {}

int32_t PoolAllocator::allocate(int64_t bytes, int /*stream*/) {
  const int64_t size = rules_.rounded(bytes);
  const auto after = std::upper_bound(cached_.begin(), cached_.end(), size,
                                      [](int64_t s, const Cached& c) { return s < c.size; });
  if (after != cached_.begin() && std::prev(after)->size == size) {
    const int32_t buffer = std::prev(after)->buffer;
    cached_.erase(std::prev(after));
    return buffer;
  }
  const int64_t kept_free = capacity_ >= kUnlimited ? 0 : capacity_ / 100 * rules_.reserve_percent;
  if (size > capacity_ - reserved_ - kept_free && !cached_.empty()) {
    ++retries_;
    empty_cache();
  }
  if (size > capacity_ - reserved_) return kNoBlock;
  reserved_ += size;
  ++segments_;
  sizes_.push_back(size);
  return static_cast<int32_t>(sizes_.size()) - 1;
}

void PoolAllocator::release(int32_t buffer) {
  const Cached entry{block_size(buffer), buffer};
  cached_.insert(std::upper_bound(cached_.begin(), cached_.end(), entry.size,
                                  [](int64_t s, const Cached& c) { return s < c.size; }),
                 entry);
}

void PoolAllocator::empty_cache() {
  for (const Cached& entry : cached_) reserved_ -= entry.size;
  returned_ += static_cast<int64_t>(cached_.size());
  cached_.clear();
}

}  // namespace plimsoll
