#include "estimator/memory/allocator/caching.h"

#include <bit>

namespace plimsoll {

int64_t CachingRules::rounded(int64_t bytes) const {
  if (bytes < minimum_block) return minimum_block;
  const int64_t divisions = roundup_power2_divisions;
  if (divisions <= 1 || bytes <= minimum_block * divisions) return round_up(bytes, minimum_block);
  const auto floor = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes)));
  const int64_t step =
      floor / static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(divisions)));
  return round_up(bytes, step);
}

int64_t CachingRules::segment_for(int64_t rounded_bytes) const {
  if (rounded_bytes <= small_size) return small_segment;
  if (rounded_bytes < minimum_large_request) return large_segment;
  return round_up(rounded_bytes, large_granule);
}

CachingAllocator::CachingAllocator(const CachingRules& rules, int64_t capacity)
    : rules_(rules), capacity_(capacity) {}

int CachingAllocator::pool_of(int64_t size, int stream) {
  const int pool = 2 * stream + (size <= rules_.small_size ? 0 : 1);
  if (static_cast<size_t>(pool) >= pools_.size()) {
    pools_.resize(2 * static_cast<size_t>(stream) + 2);
    range_start_.resize(pools_.size(), -1);
  }
  return pool;
}

int32_t CachingAllocator::allocate(int64_t bytes, int stream) {
  const int64_t size = rules_.rounded(bytes);
  const int pool = pool_of(size, stream);
  FreeList& free = pools_[static_cast<size_t>(pool)];
  int32_t found = cached_block(size, free);
  if (found != kNoBlock) {
    free.take(blocks_, found);
  } else {
    found = uncached_block(size, pool);
    if (found == kNoBlock) return kNoBlock;
  }

  const int64_t rest = blocks_[found].size - size;
  const bool splits =
      small(pool) || rules_.expandable_segments
          ? rest >= rules_.minimum_block
          : size < rules_.max_split_size.value_or(kUnlimited) && rest > rules_.small_size;
  blocks_[found].state = Block::State::kUsed;
  if (splits) {
    const int32_t remainder = blocks_.split(found, size);
    blocks_[remainder].state = Block::State::kFree;
    free.put(blocks_, remainder);
  }
  return found;
}

// The best fit in its pool, unless PyTorch's size rules forbid lending it.
int32_t CachingAllocator::cached_block(int64_t size, const FreeList& free) const {
  int32_t fit = free.best_fit(blocks_, size);
  if (fit == kNoBlock) return kNoBlock;
  if (rules_.expandable_segments) {
    // A block that can grow counts with the size it can grow to, so that the end of the range is
    // the last resort.
    for (int32_t next = free.next(blocks_, fit);
         next != kNoBlock && expandable_size(next) < expandable_size(fit);
         next = free.next(blocks_, fit)) {
      fit = next;
    }
  }
  const int64_t limit = rules_.max_split_size.value_or(kUnlimited);
  const int64_t whole = blocks_[fit].size;
  if (size < limit && whole >= limit) return kNoBlock;
  if (size >= limit && whole >= size + rules_.large_segment) return kNoBlock;
  return fit;
}

// From the device, which may first want cached memory back. In no list.
int32_t CachingAllocator::uncached_block(int64_t size, int pool) {
  int32_t found = new_segment(size, pool);
  if (found != kNoBlock) return found;
  ++retries_;
  if (return_oversize(size, pool)) found = new_segment(size, pool);
  if (found != kNoBlock) return found;
  empty_cache();
  return new_segment(size, pool);
}

int32_t CachingAllocator::new_segment(int64_t size, int pool) {
  if (rules_.expandable_segments) return grow(size, pool);
  const int64_t segment = rules_.segment_for(size);
  if (segment > capacity_ - reserved_) return kNoBlock;
  const int32_t block = blocks_.make(
      {.address = next_address_, .size = segment, .pool = static_cast<uint16_t>(pool)});
  next_address_ += segment;
  reserved_ += segment;
  ++segments_;
  return block;
}

void CachingAllocator::release(int32_t block) {
  free_block(blocks_, pools_[blocks_[block].pool], block);
}

// Joins `block`, which is in no list, with neighbours in the same state; they leave theirs.
int32_t CachingAllocator::merge_free(int32_t block) {
  const auto state = blocks_[block].state;
  FreeList& free = pools_[blocks_[block].pool];
  const int32_t next = blocks_[block].next;
  if (next >= 0 && blocks_[next].state == state) {
    if (state == Block::State::kFree) free.take(blocks_, next);
    blocks_.absorb_next(block);
  }
  const int32_t previous = blocks_[block].previous;
  if (previous >= 0 && blocks_[previous].state == state) {
    if (state == Block::State::kFree) free.take(blocks_, previous);
    blocks_.absorb_next(previous);
    return previous;
  }
  return block;
}

void CachingAllocator::empty_cache() {
  for (FreeList& free : pools_) {
    if (rules_.expandable_segments) {
      unmap_free_pages(free);
      continue;
    }
    int32_t block = free.smallest();
    while (block != kNoBlock) {
      const int32_t next = free.next(blocks_, block);
      if (blocks_[block].whole_segment()) return_segment(block, free);
      block = next;
    }
  }
}

void CachingAllocator::return_segment(int32_t block, FreeList& free) {
  free.take(blocks_, block);
  reserved_ -= blocks_[block].size;
  ++returned_;
  blocks_.drop(block);
}

// PyTorch's release_available_cached_blocks: with a split limit, gives back one block that is large
// enough, or several from the largest down. True where that may suffice.
bool CachingAllocator::return_oversize(int64_t size, int pool) {
  if (!rules_.max_split_size || rules_.expandable_segments) return false;
  const int64_t wanted = std::max(size, *rules_.max_split_size);
  FreeList& free = pools_[static_cast<size_t>(pool)];
  if (const int32_t fit = free.best_fit(blocks_, wanted); fit != kNoBlock) {
    return_segment(fit, free);
    return true;
  }
  int64_t given_back = 0;
  for (int32_t largest = free.largest(); given_back < wanted && largest != kNoBlock &&
                                         blocks_[largest].size >= *rules_.max_split_size;
       largest = free.largest()) {
    given_back += blocks_[largest].size;
    return_segment(largest, free);
  }
  return given_back >= wanted;
}

int64_t CachingAllocator::expandable_size(int32_t block) const {
  const int32_t next = blocks_[block].next;
  const bool grows = next >= 0 && blocks_[next].state == Block::State::kUnmapped;
  return blocks_[block].size + (grows ? blocks_[next].size : 0);
}

// The lowest place of free and unmapped neighbours with room for `size`.
int32_t CachingAllocator::growth_candidate(int64_t size, int pool) {
  int32_t& start = range_start_[static_cast<size_t>(pool)];
  if (start < 0) {
    // A range of addresses costs nothing until it is mapped.
    start = blocks_.make({.size = kUnlimited,
                          .pool = static_cast<uint16_t>(pool),
                          .state = Block::State::kUnmapped});
    ++segments_;
  }
  for (int32_t block = start; block >= 0; block = blocks_[block].next) {
    if (blocks_[block].state != Block::State::kUnmapped) continue;
    const int32_t before = blocks_[block].previous;
    const bool with_before = before >= 0 && blocks_[before].state == Block::State::kFree;
    const int32_t first = with_before ? before : block;
    int64_t room = 0;
    for (int32_t b = first; room < size && b >= 0 && blocks_[b].state != Block::State::kUsed;
         b = blocks_[b].next) {
      room += blocks_[b].size;
    }
    if (room >= size) return first;
  }
  return -1;  // not reached: the last block has no end
}

// Maps pages until the candidate holds `size` bytes; it is then in no list.
int32_t CachingAllocator::grow(int64_t size, int pool) {
  int32_t block = growth_candidate(size, pool);
  if (block < 0) return kNoBlock;
  FreeList& free = pools_[static_cast<size_t>(pool)];
  if (blocks_[block].state == Block::State::kUnmapped) {
    if (!map(block, std::min(blocks_[block].size, size))) return kNoBlock;
    block = merge_free(block);
    free.put(blocks_, block);
  }
  while (blocks_[block].size < size) {
    const int32_t next = blocks_[block].next;
    const int64_t missing = size - blocks_[block].size;
    if (!map(next, std::min(missing, blocks_[next].size))) return kNoBlock;
    block = merge_free(next);
    free.put(blocks_, block);
  }
  free.take(blocks_, block);
  return block;
}

// Turns the first pages of an unmapped block into a free block that is in no list yet.
bool CachingAllocator::map(int32_t block, int64_t size) {
  const int64_t mapped = std::min(round_up(size, page(blocks_[block].pool)), blocks_[block].size);
  if (mapped > capacity_ - reserved_) return false;
  if (mapped < blocks_[block].size) blocks_.split(block, mapped);
  blocks_[block].state = Block::State::kFree;
  reserved_ += mapped;
  return true;
}

void CachingAllocator::unmap_free_pages(const FreeList& free) {
  std::vector<int32_t> candidates;
  for (int32_t block = free.smallest(); block != kNoBlock; block = free.next(blocks_, block)) {
    candidates.push_back(block);
  }
  for (const int32_t block : candidates) unmap(block);
}

// Unmaps the whole pages inside a free block; what sticks out on either side stays cached.
void CachingAllocator::unmap(int32_t block) {
  const Block whole = blocks_[block];
  FreeList& free = pools_[whole.pool];
  const int64_t granule = page(whole.pool);
  const int64_t from = round_up(whole.address, granule);
  const int64_t to = (whole.address + whole.size) / granule * granule;
  if (from >= to) return;
  free.take(blocks_, block);
  int32_t pages = block;
  if (from > whole.address) {
    pages = blocks_.split(block, from - whole.address);
    free.put(blocks_, block);
  }
  if (to < whole.address + whole.size) {
    const int32_t rest = blocks_.split(pages, to - from);
    free.put(blocks_, rest);
  }
  blocks_[pages].state = Block::State::kUnmapped;
  reserved_ -= to - from;
  ++returned_;
  merge_free(pages);
}

}  // namespace plimsoll
