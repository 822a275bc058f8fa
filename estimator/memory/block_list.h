// block_list: what the block-splitting allocators share. Blocks live in one flat array, linked to
// their neighbours in memory by index; free ones stand in a list sorted by size, then address.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace plimsoll {

struct Block {
  enum class State : uint8_t { kUsed, kFree, kUnmapped };
  int64_t address = 0;
  int64_t size = 0;
  int32_t previous = -1, next = -1;  // neighbours in the same segment
  uint16_t pool = 0;
  State state = State::kUsed;

  bool whole_segment() const { return previous < 0 && next < 0; }
};

class BlockList {
 public:
  Block& operator[](int32_t block) { return blocks_[static_cast<size_t>(block)]; }
  const Block& operator[](int32_t block) const { return blocks_[static_cast<size_t>(block)]; }
  size_t size() const { return blocks_.size(); }

  int32_t make(const Block& block) {
    if (unused_.empty()) {
      blocks_.push_back(block);
      return static_cast<int32_t>(blocks_.size()) - 1;
    }
    const int32_t index = unused_.back();
    unused_.pop_back();
    blocks_[static_cast<size_t>(index)] = block;
    return index;
  }
  void drop(int32_t block) { unused_.push_back(block); }

  // Cuts `block` to `size` bytes; returns the block that holds the rest, linked behind it.
  int32_t split(int32_t block, int64_t size) {
    const Block whole = (*this)[block];
    const int32_t rest = make({.address = whole.address + size,
                               .size = whole.size - size,
                               .previous = block,
                               .next = whole.next,
                               .pool = whole.pool,
                               .state = whole.state});
    if (whole.next >= 0) (*this)[whole.next].previous = rest;
    (*this)[block].size = size;
    (*this)[block].next = rest;
    return rest;
  }
  // Joins `block` and its next neighbour into `block`.
  void absorb_next(int32_t block) {
    const int32_t gone = (*this)[block].next;
    (*this)[block].size += (*this)[gone].size;
    (*this)[block].next = (*this)[gone].next;
    if ((*this)[gone].next >= 0) (*this)[(*this)[gone].next].previous = block;
    drop(gone);
  }

 private:
  std::vector<Block> blocks_;
  std::vector<int32_t> unused_;
};

class FreeList {
 public:
  struct Entry {
    int64_t size = 0;
    int64_t address = 0;
    int32_t block = -1;
    bool operator<(const Entry& other) const {
      return size != other.size ? size < other.size : address < other.address;
    }
  };

  void put(const Block& block, int32_t index) {
    const Entry entry{block.size, block.address, index};
    entries_.insert(std::upper_bound(entries_.begin(), entries_.end(), entry), entry);
  }
  void take(const Block& block) { take_at(position(block)); }
  // The entry at `at` gives way to that of another block: what stands between the two moves by one.
  void replace_at(size_t at, const Block& block, int32_t index) {
    const Entry entry{block.size, block.address, index};
    const auto old = entries_.begin() + static_cast<std::ptrdiff_t>(at);
    if (*old < entry) {
      const auto after = std::upper_bound(old + 1, entries_.end(), entry);
      *std::move(old + 1, after, old) = entry;
    } else {
      const auto before = std::upper_bound(entries_.begin(), old, entry);
      std::move_backward(before, old, old + 1);
      *before = entry;
    }
  }
  size_t position(const Block& block) const {
    const auto at =
        std::lower_bound(entries_.begin(), entries_.end(), Entry{block.size, block.address, -1});
    return static_cast<size_t>(at - entries_.begin());
  }
  // Position of the smallest block of at least `size` bytes, lowest address first; end() if none.
  size_t best_fit(int64_t size) const {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), Entry{size, INT64_MIN, -1});
    return static_cast<size_t>(at - entries_.begin());
  }
  const Entry& operator[](size_t at) const { return entries_[at]; }
  size_t end() const { return entries_.size(); }
  int32_t take_at(size_t at) {
    const int32_t block = entries_[at].block;
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at));
    return block;
  }

 private:
  std::vector<Entry> entries_;
};

// One less than the largest capacity, so that sums of capacities and sizes do not overflow.
inline constexpr int64_t kUnlimited = int64_t{1} << 60;

inline int64_t round_up(int64_t bytes, int64_t granule) {
  return (bytes + granule - 1) / granule * granule;
}

}  // namespace plimsoll
