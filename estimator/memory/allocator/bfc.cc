#include "estimator/memory/allocator/bfc.h"

namespace plimsoll {

BfcAllocator::BfcAllocator(const BfcRules& rules, int64_t capacity)
    : rules_(rules),
      capacity_(capacity / rules.granule * rules.granule),
      next_region_(rules.allow_growth ? std::min(capacity_, rules.first_region) : capacity_) {}

int32_t BfcAllocator::allocate(int64_t bytes, int /*stream*/) {
  const int64_t size = round_up(bytes, rules_.granule);
  if (const int32_t chunk = cached_chunk(size); chunk != kNoBlock) return chunk;
  if (extend(size)) return cached_chunk(size);
  if (!rules_.garbage_collection || !return_free_regions(size)) return kNoBlock;
  ++retries_;
  return extend(size) ? cached_chunk(size) : kNoBlock;
}

int32_t BfcAllocator::cached_chunk(int64_t size) {
  const int32_t chunk = free_.best_fit(chunks_, size);
  if (chunk == kNoBlock) return kNoBlock;
  free_.take(chunks_, chunk);
  const int64_t whole = chunks_[chunk].size;
  if (whole >= 2 * size || whole - size >= rules_.largest_slack) {
    const int32_t rest = chunks_.split(chunk, size);
    free_.put(chunks_, rest);
  }
  chunks_[chunk].state = Block::State::kUsed;
  needed_ = std::max(needed_, chunks_[chunk].address + chunks_[chunk].size);
  return chunk;
}

// Takes another region: twice the last one, more if the request is larger, less at the end.
bool BfcAllocator::extend(int64_t size) {
  const int64_t available = capacity_ - reserved_;
  if (size > available || next_region_ == 0) return false;
  const bool doubled_for_request = size > next_region_;
  while (size > next_region_) next_region_ *= 2;
  const int64_t region = std::min(next_region_, available);
  if (!doubled_for_request) next_region_ = std::min(next_region_, kUnlimited) * 2;
  const int32_t chunk =
      chunks_.make({.address = next_address_, .size = region, .state = Block::State::kFree});
  free_.put(chunks_, chunk);
  next_address_ += region;
  reserved_ += region;
  ++regions_;
  return true;
}

void BfcAllocator::release(int32_t chunk) { free_block(chunks_, free_, chunk); }

// Gives wholly free regions back so that a larger one can be taken, if that could suffice.
bool BfcAllocator::return_free_regions(int64_t size) {
  int64_t free_bytes = 0;
  for (int32_t chunk = free_.smallest(); chunk != kNoBlock; chunk = free_.next(chunks_, chunk)) {
    if (chunks_[chunk].whole_segment()) free_bytes += chunks_[chunk].size;
  }
  if (free_bytes == 0 || size > capacity_ - reserved_ + free_bytes) return false;
  int32_t chunk = free_.smallest();
  while (chunk != kNoBlock) {
    const int32_t next = free_.next(chunks_, chunk);
    if (chunks_[chunk].whole_segment()) {
      free_.take(chunks_, chunk);
      reserved_ -= chunks_[chunk].size;
      ++returned_;
      chunks_.drop(chunk);
    }
    chunk = next;
  }
  return true;
}

}  // namespace plimsoll
