// KernelPrices: what kernels cost that were asked for before. The steps of a sweep (batch sizes,
// optimizers, precisions) share most of their kernels, and a look-up costs a tenth of a pricing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "estimator/time/kernel_time.h"

namespace plimsoll {

// May be used from many threads. Cost of find(): some 50 nanoseconds, no lock, no allocation.
class KernelPrices {
 public:
  KernelPrices();
  // Null where the kernel is not known. What is found stays as long as the prices do.
  const KernelTime* find(const KernelAt& kernel) const;
  // The first time kept for a kernel is the one that stays. Beyond kMost kernels no more are kept.
  void keep(const KernelAt& kernel, const KernelTime& time);

  static constexpr size_t kMost = size_t{1} << 17;  // some 50 MB

 private:
  struct Kept {
    KernelAt kernel;
    KernelTime time;
  };
  // Open addressing, half of the places empty: a hash table of the standard library divides by a
  // prime and follows two pointers for what is one look here. A place is written once: its hash,
  // then the pointer that readers look at first.
  struct Place {
    uint64_t hash = 0;
    std::atomic<const Kept*> kept = nullptr;
  };
  struct Table {
    explicit Table(size_t count) : places(count) {}
    const Kept* find(const KernelAt& kernel, uint64_t hash) const;
    void insert(const Kept* kept, uint64_t hash);
    std::vector<Place> places;  // a power of two of them
  };

  std::atomic<const Table*> table_;
  std::mutex mutex_;                            // of those who keep
  std::deque<Kept> kept_;                       // never moves what it holds
  std::vector<std::unique_ptr<Table>> tables_;  // the last one is read; some may still read others
};

}  // namespace plimsoll
