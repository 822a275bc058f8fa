// KernelPrices: what kernels cost that were asked for before. The steps of a sweep (batch sizes,
// optimizers, precisions) share most of their kernels, and a look-up costs a tenth of a pricing.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <optional>
#include <unordered_map>

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
  // A kernel is hashed once, wherever it is looked for.
  struct Asked {
    const KernelAt& kernel;
    size_t hash;
  };
  struct Kept {
    KernelAt kernel;
    size_t hash;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(const auto& key) const { return key.hash; }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const { return a.kernel == b.kernel; }
  };
  // Threads that price different kernels rarely wait for each other.
  struct Part {
    mutable std::mutex mutex;
    std::unordered_map<Kept, KernelTime, Hash, Equal> times;
  };
  static constexpr size_t kParts = 16;

  // The low bits choose a place within the part.
  static size_t part_of(size_t hash) { return hash >> 48 & (kParts - 1); }

  std::array<Part, kParts> parts_;
};

}  // namespace plimsoll
