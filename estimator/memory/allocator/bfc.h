// bfc_allocator: TensorFlow's best-fit-with-coalescing allocator
// (tensorflow/core/common_runtime/bfc_allocator.cc). Its power-of-two bins, searched upwards by
// size and address, amount to one best-fit list.
//
// By default it takes all the card can give at once, so that what it has *taken* says nothing about
// what it *needs*. With allow_growth it takes regions that double.
#pragma once

#include <cstdint>
#include <vector>

#include "estimator/memory/allocator/block_list.h"

namespace plimsoll {

// The defaults are TensorFlow's, but for allow_growth, which is the only informative mode.
struct BfcRules {
  bool allow_growth = true;
  bool garbage_collection = true;     // TF_ENABLE_GPU_GARBAGE_COLLECTION, since 2.3
  int64_t granule = 256;              // kMinAllocationSize
  int64_t first_region = 2 << 20;     // 1 MiB before TensorFlow 2.3
  int64_t largest_slack = 128 << 20;  // kMaxInternalFragmentation
};

class BfcAllocator {
 public:
  BfcAllocator(const BfcRules& rules, int64_t capacity);

  int32_t allocate(int64_t bytes, int stream);
  void release(int32_t chunk);
  // TensorFlow has no such call: nothing happens.
  void empty_cache() {}

  int64_t reserved() const { return reserved_; }
  // Highest address used, within regions laid end to end.
  int64_t needed() const { return needed_; }
  int64_t block_size(int32_t chunk) const { return chunks_[chunk].size; }
  int64_t segments() const { return regions_; }
  int64_t segments_returned() const { return returned_; }
  int64_t retries() const { return retries_; }

 private:
  int32_t cached_chunk(int64_t size);
  bool extend(int64_t size);
  bool return_free_regions(int64_t size);

  BfcRules rules_;
  int64_t capacity_;
  int64_t next_region_;
  BlockList chunks_;
  FreeList free_;
  int64_t next_address_ = 0;
  int64_t reserved_ = 0, needed_ = 0, regions_ = 0, returned_ = 0, retries_ = 0;
};

}  // namespace plimsoll
