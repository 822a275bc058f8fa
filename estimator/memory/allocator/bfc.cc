#include "estimator/memory/allocator/bfc.h"

namespace plimsoll {

BfcAllocator::BfcAllocator(const BfcRules& rules, int64_t capacity)
    : rules_(rules),
      capacity_(capacity / rules.granule * rules.granule),
      next_region_(std::min(capacity_, rules.first_region)) {}

int32_t BfcAllocator::allocate(int64_t bytes, int /*stream*/) {
  const int64_t size = round_up(bytes, rules_.granule);
  if (const int32_t chunk = cached_chunk(size); chunk != kNoBlock) return chunk;
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

}  // namespace plimsoll
