#include "estimator/memory/caching_allocator.h"

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

std::optional<int32_t> CachingAllocator::allocate(int64_t bytes, int stream) {
  const int64_t size = rules_.rounded(bytes);
  const int pool = pool_of(size, stream);
  FreeList& free = pools_[static_cast<size_t>(pool)];
  const std::optional<size_t> cached = cached_block(size, free);
  const std::optional<int32_t> found = cached ? free[*cached].block : uncached_block(size, pool);
  if (!found) return std::nullopt;

  const int64_t rest = blocks_[*found].size - size;
  const bool splits =
      small(pool) || rules_.expandable_segments
          ? rest >= rules_.minimum_block
          : size < rules_.max_split_size.value_or(kUnlimited) && rest > rules_.small_size;
  blocks_[*found].state = Block::State::kUsed;
  if (splits) {
    const int32_t remainder = blocks_.split(*found, size);
    blocks_[remainder].state = Block::State::kFree;
    cached ? free.replace_at(*cached, blocks_[remainder], remainder)
           : free.put(blocks_[remainder], remainder);
  } else if (cached) {
    free.take_at(*cached);
  }
  return found;
}

// Position of the best fit in its pool, unless PyTorch's size rules forbid lending it.
std::optional<size_t> CachingAllocator::cached_block(int64_t size, const FreeList& free) const {
  size_t at = free.best_fit(size);
  if (at == free.end()) return std::nullopt;
  if (rules_.expandable_segments) {
    // A block that can grow counts with the size it can grow to, so that the end of the range is
    // the last resort.
    while (at + 1 < free.end() &&
           expandable_size(free[at + 1].block) < expandable_size(free[at].block)) {
      ++at;
    }
  }
  const int64_t limit = rules_.max_split_size.value_or(kUnlimited);
  if (size < limit && free[at].size >= limit) return std::nullopt;
  if (size >= limit && free[at].size >= size + rules_.large_segment) return std::nullopt;
  return at;
}

// From the device, which may first want cached memory back. In no list.
std::optional<int32_t> CachingAllocator::uncached_block(int64_t size, int pool) {
  if (auto found = new_segment(size, pool)) return found;
  ++retries_;
  if (return_oversize(size, pool)) {
    if (auto found = new_segment(size, pool)) return found;
  }
  empty_cache();
  return new_segment(size, pool);
}

std::optional<int32_t> CachingAllocator::new_segment(int64_t size, int pool) {
  if (rules_.expandable_segments) return grow(size, pool);
  const int64_t segment = rules_.segment_for(size);
  if (segment > capacity_ - reserved_) return std::nullopt;
  const int32_t block = blocks_.make(
      {.address = next_address_, .size = segment, .pool = static_cast<uint16_t>(pool)});
  next_address_ += segment;
  reserved_ += segment;
  ++segments_;
  return block;
}

void CachingAllocator::release(int32_t block) {
  FreeList& free = pools_[blocks_[block].pool];
  blocks_[block].state = Block::State::kFree;
  const auto is_free = [&](int32_t other) {
    return other >= 0 && blocks_[other].state == Block::State::kFree;
  };
  const int32_t next = blocks_[block].next, previous = blocks_[block].previous;
  const bool joins_previous = is_free(previous);
  // The entry of the previous block or else the next becomes the joint block's.
  std::optional<size_t> listed;
  if (is_free(next)) {
    if (joins_previous) {
      free.take(blocks_[next]);
    } else {
      listed = free.position(blocks_[next]);
    }
    blocks_.absorb_next(block);
  }
  if (joins_previous) {
    listed = free.position(blocks_[previous]);
    blocks_.absorb_next(previous);
    block = previous;
  }
  listed ? free.replace_at(*listed, blocks_[block], block) : free.put(blocks_[block], block);
}

// Joins `block`, which is in no list, with neighbours in the same state; they leave theirs.
int32_t CachingAllocator::merge_free(int32_t block) {
  const auto state = blocks_[block].state;
  FreeList& free = pools_[blocks_[block].pool];
  const int32_t next = blocks_[block].next;
  if (next >= 0 && blocks_[next].state == state) {
    if (state == Block::State::kFree) free.take(blocks_[next]);
    blocks_.absorb_next(block);
  }
  const int32_t previous = blocks_[block].previous;
  if (previous >= 0 && blocks_[previous].state == state) {
    if (state == Block::State::kFree) free.take(blocks_[previous]);
    blocks_.absorb_next(previous);
    return previous;
  }
  return block;
}

void CachingAllocator::empty_cache() {
  for (size_t pool = 0; pool < pools_.size(); ++pool) {
    if (rules_.expandable_segments) {
      unmap_free_pages(static_cast<int>(pool));
      continue;
    }
    for (size_t at = pools_[pool].end(); at-- > 0;) {
      if (blocks_[pools_[pool][at].block].whole_segment()) {
        return_segment(at, static_cast<int>(pool));
      }
    }
  }
}

void CachingAllocator::return_segment(size_t at, int pool) {
  const int32_t block = pools_[static_cast<size_t>(pool)].take_at(at);
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
  const size_t at = free.best_fit(wanted);
  if (at != free.end()) {
    return_segment(at, pool);
    return true;
  }
  int64_t given_back = 0;
  while (given_back < wanted && free.end() > 0 &&
         free[free.end() - 1].size >= *rules_.max_split_size) {
    given_back += free[free.end() - 1].size;
    return_segment(free.end() - 1, pool);
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
std::optional<int32_t> CachingAllocator::grow(int64_t size, int pool) {
  int32_t block = growth_candidate(size, pool);
  if (block < 0) return std::nullopt;
  FreeList& free = pools_[static_cast<size_t>(pool)];
  if (blocks_[block].state == Block::State::kUnmapped) {
    if (!map(block, std::min(blocks_[block].size, size))) return std::nullopt;
    block = merge_free(block);
    free.put(blocks_[block], block);
  }
  while (blocks_[block].size < size) {
    const int32_t next = blocks_[block].next;
    const int64_t missing = size - blocks_[block].size;
    if (!map(next, std::min(missing, blocks_[next].size))) return std::nullopt;
    block = merge_free(next);
    free.put(blocks_[block], block);
  }
  free.take(blocks_[block]);
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

void CachingAllocator::unmap_free_pages(int pool) {
  std::vector<int32_t> candidates;
  for (size_t at = 0; at < pools_[static_cast<size_t>(pool)].end(); ++at) {
    candidates.push_back(pools_[static_cast<size_t>(pool)][at].block);
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
  free.take(whole);
  int32_t pages = block;
  if (from > whole.address) {
    pages = blocks_.split(block, from - whole.address);
    free.put(blocks_[block], block);
  }
  if (to < whole.address + whole.size) {
    const int32_t rest = blocks_.split(pages, to - from);
    free.put(blocks_[rest], rest);
  }
  blocks_[pages].state = Block::State::kUnmapped;
  reserved_ -= to - from;
  ++returned_;
  merge_free(pages);
}

}  // namespace plimsoll
