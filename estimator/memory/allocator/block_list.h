// block_list: what the block-splitting allocators share. Blocks live in one flat array, linked by
// index to their neighbours in memory and, where free, to those in a list by size, then address.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <iterator>
#include <map>
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
  int32_t lower = kNoBlock, higher = kNoBlock;   // neighbours in the same list of a FreeList
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

// The free blocks of a pool by size, then address, in one list for each eighth of a power of two:
// lists are short, and nothing moves. One that grows long all the same, as of 10,000 equal layers,
// is searched by an index. A listed block keeps its size.
class FreeList {
 public:
  FreeList() {
    first_.fill(kNoBlock);
    last_.fill(kNoBlock);
    near_.fill(kNoBlock);
  }

  void put(BlockList& blocks, int32_t index) {
    Block& block = blocks[index];
    const size_t list = list_of(block.size);
    const auto [lower, higher] = place_of(blocks, block, list);
    block.lower = lower;
    block.higher = higher;
    (lower != kNoBlock ? blocks[lower].higher : first_[list]) = index;
    (higher != kNoBlock ? blocks[higher].lower : last_[list]) = index;
    near_[list] = index;
    filled_[list / 64] |= uint64_t{1} << list % 64;
    ++lengths_[list];
    if (has_index(list)) {
      indices_[list].insert(key_of(blocks, index));
    } else if (lengths_[list] == kLong) {
      Index& added = indices_[list];
      for (int32_t at = first_[list]; at != kNoBlock; at = blocks[at].higher)
        added.insert(key_of(blocks, at));
    }
  }
  void take(BlockList& blocks, int32_t index) {
    const Block& block = blocks[index];
    const size_t list = list_of(block.size);
    if (near_[list] == index) near_[list] = block.lower != kNoBlock ? block.lower : block.higher;
    (block.higher != kNoBlock ? blocks[block.higher].lower : last_[list]) = block.lower;
    (block.lower != kNoBlock ? blocks[block.lower].higher : first_[list]) = block.higher;
    if (first_[list] == kNoBlock) filled_[list / 64] &= ~(uint64_t{1} << list % 64);
    --lengths_[list];
    if (!has_index(list)) return;
    indices_[list].erase(key_of(blocks, index));
    if (lengths_[list] == 0) indices_.erase(list);
  }

  // The smallest block of at least `size` bytes, lowest address first; kNoBlock if there is none.
  int32_t best_fit(const BlockList& blocks, int64_t size) const {
    const size_t list = list_of(size);
    if (last_[list] == kNoBlock || blocks[last_[list]].size < size) return first_from(list + 1);
    if (has_index(list)) return indices_.at(list).lower_bound({size, 0, 0})->block;
    int32_t at = first_[list];
    while (blocks[at].size < size) at = blocks[at].higher;
    return at;
  }
  int32_t smallest() const { return first_from(0); }
  int32_t next(const BlockList& blocks, int32_t index) const {
    const Block& block = blocks[index];
    return block.higher != kNoBlock ? block.higher : first_from(list_of(block.size) + 1);
  }
  int32_t largest() const {
    size_t list = kLists - 1;
    while (list > 0 && last_[list] == kNoBlock) --list;
    return last_[list];
  }

 private:
  static constexpr size_t kLists = 512;  // 64 powers of two
  static constexpr int32_t kLong = 128;

  struct Key {
    int64_t size, address;
    int32_t block;
    auto operator<=>(const Key&) const = default;
  };
  using Index = std::set<Key>;

  struct Neighbours {
    int32_t lower, higher;
  };

  // Blocks come back near each other, and those of one size by rising addresses or by falling ones:
  // it is looked for from the last one that came, and at either end.
  Neighbours place_of(const BlockList& blocks, const Block& block, size_t list) const {
    if (last_[list] == kNoBlock || before(blocks[last_[list]], block))
      return {last_[list], kNoBlock};
    if (before(block, blocks[first_[list]])) return {kNoBlock, first_[list]};
    if (has_index(list)) {
      const auto after = indices_.at(list).upper_bound({block.size, block.address, kNoBlock});
      return {std::prev(after)->block, after->block};
    }
    int32_t lower = near_[list];
    while (before(block, blocks[lower])) lower = blocks[lower].lower;
    int32_t higher = blocks[lower].higher;
    while (before(blocks[higher], block)) {
      lower = higher;
      higher = blocks[higher].higher;
    }
    return {lower, higher};
  }

  bool has_index(size_t list) const { return !indices_.empty() && indices_.contains(list); }
  static Key key_of(const BlockList& blocks, int32_t index) {
    return {blocks[index].size, blocks[index].address, index};
  }
  static bool before(const Block& a, const Block& b) {
    return a.size < b.size || (a.size == b.size && a.address < b.address);
  }
  // `size` > 0.
  static size_t list_of(int64_t size) {
    const auto bytes = static_cast<uint64_t>(size);
    const auto width = static_cast<size_t>(std::bit_width(bytes));
    return 8 * width + (bytes << 3 >> (width - 1)) % 8;
  }
  int32_t first_from(size_t list) const {
    uint64_t skipped = list % 64;
    for (size_t word = list / 64; word < filled_.size(); ++word, skipped = 0) {
      const uint64_t filled = filled_[word] >> skipped << skipped;
      if (filled != 0) return first_[64 * word + static_cast<size_t>(std::countr_zero(filled))];
    }
    return kNoBlock;
  }

  std::array<int32_t, kLists> first_, last_;
  std::array<int32_t, kLists> near_;            // the one that came last, or was beside it
  std::array<uint64_t, kLists / 64> filled_{};  // a bit for each list that is not empty
  std::array<int32_t, kLists> lengths_{};
  std::map<size_t, Index> indices_;  // of lists that have grown long, until they are empty
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
