// caching_allocator: PyTorch's CUDACachingAllocator (c10/cuda/CUDACachingAllocator.cpp). Constants
// and order of steps are the same from PyTorch 1.13 to 2.x; expandable segments exist since 2.0.
//
// Small (<= 1 MiB) and large requests have their own pools, and each stream its own again. Best
// fit, lowest address; freed neighbours merge; segments go back to the device only when a request
// fails or the cache is emptied.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "estimator/memory/allocator/block_list.h"

namespace plimsoll {

// The defaults are PyTorch's.
struct CachingRules {
  int64_t minimum_block = 512;               // kMinBlockSize: sizes are rounded up to it
  int64_t small_size = 1 << 20;              // kSmallSize: largest request of the small pool
  int64_t small_segment = 2 << 20;           // kSmallBuffer
  int64_t large_segment = 20 << 20;          // kLargeBuffer: segment of middling requests
  int64_t minimum_large_request = 10 << 20;  // kMinLargeAlloc: from here on, an own segment
  int64_t large_granule = 2 << 20;           // kRoundLarge: to which own segments are rounded
  // PYTORCH_CUDA_ALLOC_CONF
  std::optional<int64_t> max_split_size =
      std::nullopt;                      // bytes: larger blocks are neither split nor lent
  int64_t roundup_power2_divisions = 0;  // 0: off; else a power of two
  bool expandable_segments = false;

  // As PyTorch's round_size.
  int64_t rounded(int64_t bytes) const;
  // Bytes asked of the device for a request that no cached block serves.
  int64_t segment_for(int64_t rounded_bytes) const;
};

class CachingAllocator {
 public:
  CachingAllocator(const CachingRules& rules, int64_t capacity);

  // A handle for release(), or kNoBlock where the device is full.
  int32_t allocate(int64_t bytes, int stream);
  void release(int32_t block);
  void empty_cache();

  int64_t reserved() const { return reserved_; }
  int64_t needed() const { return reserved_; }
  int64_t block_size(int32_t block) const { return blocks_[block].size; }
  int64_t segments() const { return segments_; }
  int64_t segments_returned() const { return returned_; }
  int64_t retries() const { return retries_; }

 private:
  int pool_of(int64_t size, int stream);
  bool small(int pool) const { return pool % 2 == 0; }
  int32_t cached_block(int64_t size, const FreeList& free) const;
  int32_t uncached_block(int64_t size, int pool);
  int32_t new_segment(int64_t size, int pool);
  bool return_oversize(int64_t size, int pool);
  void return_segment(int32_t block, FreeList& free);

  // Expandable segments: one growing range of addresses per pool, mapped in pages.
  int32_t grow(int64_t size, int pool);
  int32_t growth_candidate(int64_t size, int pool);
  bool map(int32_t block, int64_t size);
  void unmap_free_pages(const FreeList& free);
  void unmap(int32_t block);
  int64_t page(int pool) const { return small(pool) ? rules_.small_segment : rules_.large_segment; }
  int64_t expandable_size(int32_t block) const;
  int32_t merge_free(int32_t block);

  CachingRules rules_;
  int64_t capacity_;
  BlockList blocks_;
  std::vector<FreeList> pools_;       // small, large of stream 0; small, large of stream 1; ...
  std::vector<int32_t> range_start_;  // of each pool: first block of its expandable range, or -1
  int64_t next_address_ = 0;
  int64_t reserved_ = 0, segments_ = 0, returned_ = 0, retries_ = 0;
};

}  // namespace plimsoll
