#include "estimator/time/kernel_prices.h"

namespace plimsoll {
namespace {

// Multiplication spreads what is below to the high bits, the shift brings it back.
uint64_t mix(uint64_t hash, uint64_t word) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  hash = (hash ^ word) * kOdd;
  return hash ^ hash >> 32;
}

// What tells most kernels apart; the rest is for the comparison.
size_t hash_of(const KernelAt& kernel) {
  uint64_t hash = kernel.op.size() << 8 | static_cast<uint64_t>(kernel.pass);
  if (!kernel.op.empty()) hash = hash << 8 | static_cast<uint8_t>(kernel.op.front());
  for (const int64_t word : {kernel.flop, kernel.read, kernel.written})
    hash = mix(hash, static_cast<uint64_t>(word));
  return hash;
}

}  // namespace

std::optional<KernelTime> KernelPrices::find(const KernelAt& kernel) const {
  const Asked asked{kernel, hash_of(kernel)};
  const Part& part = parts_[part_of(asked.hash)];
  const std::scoped_lock lock(part.mutex);
  const auto at = part.times.find(asked);
  return at == part.times.end() ? std::nullopt : std::optional(at->second);
}

void KernelPrices::keep(const KernelAt& kernel, const KernelTime& time) {
  const size_t hash = hash_of(kernel);
  Part& part = parts_[part_of(hash)];
  const std::scoped_lock lock(part.mutex);
  if (part.times.size() >= kMost / kParts) part.times.clear();
  part.times.emplace(Kept{kernel, hash}, time);
}

}  // namespace plimsoll
