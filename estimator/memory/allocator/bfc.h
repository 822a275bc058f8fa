// bfc_allocator: TensorFlow's best-fit-with-coalescing allocator
// (tensorflow/core/common_runtime/bfc_allocator.cc). Its power-of-two bins, searched upwards by
// size and address, amount to one best-fit list.
//
// By default it takes all the card can give at once, so that what it has *taken* says nothing about
// what it *needs*. Here it is as with allow_growth: it takes regions that double, and as before 2.3
// it gives none back.
#pragma once

#include <cstdint>
#include <vector>

#include "estimator/memory/allocator/block_list.h"

namespace plimsoll {

struct BfcRules {
  int64_t granule = 256;              // kMinAllocationSize
  int64_t first_region = 1 << 20;     // before TensorFlow 2.3
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
  int64_t segments_returned() const { return 0; }
  int64_t retries() const { return 0; }

 private:
  int32_t cached_chunk(int64_t size);
  bool extend(int64_t size);

  BfcRules rules_;
  int64_t capacity_;
  int64_t next_region_;
  BlockList chunks_;
  FreeList free_;
  int64_t next_address_ = 0;
  int64_t reserved_ = 0, needed_ = 0, regions_ = 0;
};

}  // namespace plimsoll
