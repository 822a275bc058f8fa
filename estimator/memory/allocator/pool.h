// pool_allocator: MXNet's GPU memory pools (src/storage/pooled_storage_manager.h). Requests are
// rounded and freed buffers kept; a buffer serves again only a request of the same rounded size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll {

// The defaults are MXNet's (docs, environment variables).
struct PoolRules {
  int64_t page = 4096;              // MXNET_GPU_MEM_POOL_PAGE_SIZE
  int64_t large_granule = 2 << 20;  // MXNET_GPU_MEM_LARGE_ALLOC_ROUND_SIZE
  int64_t reserve_percent = 5;      // MXNET_GPU_MEM_POOL_RESERVE: of the card, kept free

  // To pages; above `large_granule`, to multiples of it.
  int64_t rounded(int64_t bytes) const;
};

class PoolAllocator {
 public:
  PoolAllocator(const PoolRules& rules, int64_t capacity);

  int32_t allocate(int64_t bytes, int stream);
  void release(int32_t buffer);
  void empty_cache();

  int64_t reserved() const { return reserved_; }
  int64_t needed() const { return reserved_; }
  int64_t block_size(int32_t buffer) const { return sizes_[static_cast<size_t>(buffer)]; }
  int64_t segments() const { return segments_; }
  int64_t segments_returned() const { return returned_; }
  int64_t retries() const { return retries_; }

 private:
  struct Cached {
    int64_t size = 0;
    int32_t buffer = 0;
  };

  PoolRules rules_;
  int64_t capacity_;
  std::vector<int64_t> sizes_;  // of every buffer
  std::vector<Cached> cached_;  // sorted by size; among equals the last freed stands last
  int64_t reserved_ = 0, segments_ = 0, returned_ = 0, retries_ = 0;
};

}  // namespace plimsoll
