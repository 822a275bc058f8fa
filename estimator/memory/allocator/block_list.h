// block_list: what the block-splitting allocators share. Blocks live in one flat array, linked by
// index to their neighbours in memory; free ones stand in an order by size, then address.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <vector>

#include "graph/base/checked.h"

namespace plimsoll {

// No neighbour, nothing that fits, or no memory left.
inline constexpr int32_t kNoBlock = -1;

struct Block {
  enum class State : uint8_t { kUsed, kFree, kUnmapped };
  int64_t address = 0;
  int64_t size = 0;
  int32_t previous = kNoBlock, next = kNoBlock;  // neighbours in the same segment
  uint16_t pool = 0;
  State state = State::kUsed;

  bool whole_segment() const { return previous < 0 && next < 0; }
};

// Fields are written one by one: a block that is copied as a whole just after one of them was
// written would wait for that write.
class BlockList {
 public:
  Block& operator[](int32_t block) { return blocks_[static_cast<size_t>(block)]; }
  const Block& operator[](int32_t block) const { return blocks_[static_cast<size_t>(block)]; }
  size_t size() const { return blocks_.size(); }

  int32_t make(const Block& block) {
    const int32_t index = unused();
    (*this)[index] = block;
    return index;
  }
  void drop(int32_t block) { unused_.push_back(block); }

  // Cuts `block` to `size` bytes; returns the block that holds the rest, linked behind it.
  int32_t split(int32_t block, int64_t size) {
    const int32_t index = unused();
    Block& whole = (*this)[block];
    Block& rest = (*this)[index];
    rest.address = whole.address + size;
    rest.size = whole.size - size;
    rest.previous = block;
    rest.next = whole.next;
    rest.pool = whole.pool;
    rest.state = whole.state;
    if (whole.next >= 0) (*this)[whole.next].previous = index;
    whole.size = size;
    whole.next = index;
    return index;
  }
  // Joins `block` and its next neighbour into `block`.
  void absorb_next(int32_t block) {
    Block& whole = (*this)[block];
    const int32_t gone = whole.next;
    whole.size += (*this)[gone].size;
    whole.next = (*this)[gone].next;
    if (whole.next >= 0) (*this)[whole.next].previous = block;
    drop(gone);
  }

 private:
  int32_t unused() {
    if (unused_.empty()) {
      blocks_.emplace_back();
      return static_cast<int32_t>(blocks_.size()) - 1;
    }
    const int32_t index = unused_.back();
    unused_.pop_back();
    return index;
  }

  std::vector<Block> blocks_;
  std::vector<int32_t> unused_;
};

// The free blocks of a pool by size, then address. A listed block keeps its size. Each call but
// smallest() and largest() costs the logarithm of how many there are.
class FreeList {
 public:
  void put(const BlockList& blocks, int32_t index) { free_.insert(listed(blocks, index)); }
  void take(const BlockList& blocks, int32_t index) { free_.erase(listed(blocks, index)); }

  // The smallest block of at least `size` bytes, lowest address first; kNoBlock if there is none.
  int32_t best_fit(int64_t size) const { return at(free_.lower_bound({size, 0, 0})); }
  int32_t smallest() const { return at(free_.begin()); }
  int32_t next(const BlockList& blocks, int32_t index) const {
    return at(free_.upper_bound(listed(blocks, index)));
  }
  int32_t largest() const { return free_.empty() ? kNoBlock : free_.rbegin()->block; }

 private:
  struct Listed {
    int64_t size, address;
    int32_t block;
    auto operator<=>(const Listed&) const = default;
  };
  using Listing = std::set<Listed>;

  static Listed listed(const BlockList& blocks, int32_t index) {
    return {blocks[index].size, blocks[index].address, index};
  }
  int32_t at(Listing::const_iterator found) const {
    return found == free_.end() ? kNoBlock : found->block;
  }

  Listing free_;
};

// A used block becomes free, joins its free neighbours and is listed.
inline void free_block(BlockList& blocks, FreeList& free, int32_t block) {
  const auto is_free = [&](int32_t other) {
    return other != kNoBlock && blocks[other].state == Block::State::kFree;
  };
  blocks[block].state = Block::State::kFree;
  if (const int32_t next = blocks[block].next; is_free(next)) {
    free.take(blocks, next);
    blocks.absorb_next(block);
  }
  if (const int32_t previous = blocks[block].previous; is_free(previous)) {
    free.take(blocks, previous);
    blocks.absorb_next(previous);
    block = previous;
  }
  free.put(blocks, block);
}

// One less than the largest capacity, so that sums of capacities and sizes do not overflow.
inline constexpr int64_t kUnlimited = int64_t{1} << 60;

}  // namespace plimsoll
