#include "estimator/memory/bfc_allocator.h"

namespace plimsoll {

BfcAllocator::BfcAllocator(const BfcRules& rules, int64_t capacity)
    : rules_(rules),
      capacity_(capacity / rules.granule * rules.granule),
      next_region_(rules.allow_growth ? std::min(capacity_, rules.first_region) : capacity_) {}

std::optional<int32_t> BfcAllocator::allocate(int64_t bytes, int /*stream*/) {
  const int64_t size = round_up(bytes, rules_.granule);
  if (auto chunk = cached_chunk(size)) return chunk;
  if (extend(size)) return cached_chunk(size);
  if (!rules_.garbage_collection || !return_free_regions(size)) return std::nullopt;
  ++retries_;
  return extend(size) ? cached_chunk(size) : std::nullopt;
}

std::optional<int32_t> BfcAllocator::cached_chunk(int64_t size) {
  const size_t at = free_.best_fit(size);
  if (at == free_.end()) return std::nullopt;
  const int32_t chunk = free_.take_at(at);
  const int64_t whole = chunks_[chunk].size;
  if (whole >= 2 * size || whole - size >= rules_.largest_slack) {
    const int32_t rest = chunks_.split(chunk, size);
    chunks_[rest].state = Block::State::kFree;
    free_.put(chunks_[rest], rest);
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
  free_.put(chunks_[chunk], chunk);
  next_address_ += region;
  reserved_ += region;
  ++regions_;
  return true;
}

void BfcAllocator::release(int32_t chunk) {
  chunks_[chunk].state = Block::State::kFree;
  const int32_t next = chunks_[chunk].next;
  if (next >= 0 && chunks_[next].state == Block::State::kFree) {
    free_.take(chunks_[next]);
    chunks_.absorb_next(chunk);
  }
  const int32_t previous = chunks_[chunk].previous;
  if (previous >= 0 && chunks_[previous].state == Block::State::kFree) {
    free_.take(chunks_[previous]);
    chunks_.absorb_next(previous);
    chunk = previous;
  }
  free_.put(chunks_[chunk], chunk);
}

// Gives wholly free regions back so that a larger one can be taken, if that could suffice.
bool BfcAllocator::return_free_regions(int64_t size) {
  int64_t free_bytes = 0;
  for (size_t at = 0; at < free_.end(); ++at) {
    if (chunks_[free_[at].block].whole_segment()) free_bytes += free_[at].size;
  }
  if (free_bytes == 0 || size > capacity_ - reserved_ + free_bytes) return false;
  for (size_t at = free_.end(); at-- > 0;) {
    if (!chunks_[free_[at].block].whole_segment()) continue;
    const int32_t chunk = free_.take_at(at);
    reserved_ -= chunks_[chunk].size;
    ++returned_;
    chunks_.drop(chunk);
  }
  return true;
}

}  // namespace plimsoll
