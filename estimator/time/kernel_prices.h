// KernelPrices: what kernels cost that were asked for before. The steps of a sweep (batch sizes,
// optimizers, precisions) share most of their kernels, and a look-up costs a tenth of a pricing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "estimator/time/kernel_time.h"

namespace plimsoll {

// May be used from many threads. Cost of find(): under 0.1 microseconds, no allocation.
class KernelPrices {
 public:
  std::optional<KernelTime> find(const KernelAt& kernel) const;
  // Beyond kMost kernels the ones so far are forgotten, part by part.
  void keep(const KernelAt& kernel, const KernelTime& time);

  static constexpr size_t kMost = size_t{1} << 17;  // some 50 MB

 private:
  struct Kept {
    KernelAt kernel;
    KernelTime time;
  };
  // Where a kernel of this hash is kept; open addressing, half of the places empty. A hash table of
  // the standard library divides by a prime and follows two pointers for what is one look here.
  struct Place {
    uint32_t hash = 0;
    uint32_t number = 0;  // from 1; 0: empty
  };
  // Threads that price different kernels rarely wait for each other.
  struct Part {
    mutable std::mutex mutex;
    std::vector<Kept> kept;
    std::vector<Place> places;  // a power of two of them

    const Kept* find(const KernelAt& kernel, uint32_t hash) const;
    void insert(Place place);
    void grow();
  };
  static constexpr size_t kParts = 16;

  // The low bits choose a place within the part.
  static size_t part_of(uint64_t hash) { return hash >> 48 & (kParts - 1); }

  std::array<Part, kParts> parts_;
};

}  // namespace plimsoll
