// KernelPrices: what kernels cost that were asked for before. The steps of a sweep (batch sizes,
// optimizers, precisions) share most of their kernels, and a look-up costs a tenth of a pricing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "estimator/time/kernel_time.h"

namespace plimsoll {

// May be used from many threads; finding takes no lock and allocates nothing.
class KernelPrices {
 public:
  KernelPrices();
  // Null where the kernel is not known. What is found stays as long as the prices do.
  const KernelTime* find(const KernelAt& kernel) const;
  // The same for many, `found` as long as `kernels`: half the time, since where nothing is in the
  // processor's caches, as after binding a step, the fetches from memory go side by side.
  void find(std::span<const KernelAt* const> kernels, std::span<const KernelTime*> found) const;
  // The first time kept for a kernel is the one that stays. Beyond kMost kernels no more are kept.
  void keep(const KernelAt& kernel, const KernelTime& time);

  static constexpr size_t kMost = size_t{1} << 17;  // some 30 MB

 private:
  // What stands for a kernel, so that none is kept for comparison: its 256 bytes would have to
  // come through the cache for every look. Two different kernels share it once in 2^64 pairs; as
  // many as are kept make 2^33.
  struct Fingerprint {
    uint64_t low = 0, high = 0;
    bool operator==(const Fingerprint&) const = default;
  };
  static Fingerprint fingerprint(const KernelAt& kernel);
  // Open addressing, half of the places empty: a hash table of the standard library divides by a
  // prime and follows two pointers for what is one look here. A place is written once: its
  // fingerprint, then the pointer that readers look at first.
  struct Place {
    Fingerprint of;
    std::atomic<const KernelTime*> time = nullptr;
  };
  struct Table {
    explicit Table(size_t count) : places(count) {}
    const KernelTime* find(Fingerprint of) const;
    const Place& first(Fingerprint of) const { return places[of.low & (places.size() - 1)]; }
    void insert(Fingerprint of, const KernelTime* time);
    std::vector<Place> places;  // a power of two of them
  };

  std::atomic<const Table*> table_;
  std::mutex mutex_;                            // of those who keep
  std::deque<KernelTime> times_;                // never moves what it holds
  std::vector<std::unique_ptr<Table>> tables_;  // the last one is read; some may still read others
};

}  // namespace plimsoll
