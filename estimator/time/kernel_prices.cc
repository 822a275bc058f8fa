#include "estimator/time/kernel_prices.h"

#include <utility>

namespace plimsoll {
namespace {

// What tells most kernels apart; the rest is for the comparison. Multiplication by odd numbers
// spreads what is below to the high bits, one for each count; the shift brings it back.
uint64_t hash_of(const KernelAt& kernel) {
  uint64_t name = kernel.op.size() << 8 | static_cast<uint64_t>(kernel.pass);
  if (!kernel.op.empty()) name = name << 8 | static_cast<uint8_t>(kernel.op.front());
  // 2^64 over the golden ratio, and digits of pi and e.
  const uint64_t hash = (static_cast<uint64_t>(kernel.flop) ^ name << 40) * 0x9e3779b97f4a7c15 +
                        static_cast<uint64_t>(kernel.read) * 0x243f6a8885a308d3 +
                        static_cast<uint64_t>(kernel.written) * 0xb7e151628aed2a6b;
  return hash ^ hash >> 32;
}

}  // namespace

const KernelPrices::Kept* KernelPrices::Table::find(const KernelAt& kernel, uint64_t hash) const {
  const size_t last = places.size() - 1;
  for (size_t at = hash & last;; at = (at + 1) & last) {
    const Kept* kept = places[at].kept.load(std::memory_order_acquire);
    if (kept == nullptr) return nullptr;
    if (places[at].hash == hash && kept->kernel == kernel) return kept;
  }
}

void KernelPrices::Table::insert(const Kept* kept, uint64_t hash) {
  const size_t last = places.size() - 1;
  size_t at = hash & last;
  while (places[at].kept.load(std::memory_order_relaxed) != nullptr) at = (at + 1) & last;
  places[at].hash = hash;
  places[at].kept.store(kept, std::memory_order_release);
}

KernelPrices::KernelPrices() {
  constexpr size_t kFewest = 1024;
  tables_.push_back(std::make_unique<Table>(kFewest));
  table_.store(tables_.back().get(), std::memory_order_release);
}

const KernelTime* KernelPrices::find(const KernelAt& kernel) const {
  const Kept* found = table_.load(std::memory_order_acquire)->find(kernel, hash_of(kernel));
  return found == nullptr ? nullptr : &found->time;
}

void KernelPrices::keep(const KernelAt& kernel, const KernelTime& time) {
  const uint64_t hash = hash_of(kernel);
  const std::scoped_lock lock(mutex_);
  if (kept_.size() >= kMost || tables_.back()->find(kernel, hash) != nullptr) return;
  kept_.push_back({kernel, time});
  if (2 * kept_.size() > tables_.back()->places.size()) {
    auto larger = std::make_unique<Table>(2 * tables_.back()->places.size());
    for (const Kept& each : kept_) larger->insert(&each, hash_of(each.kernel));
    tables_.push_back(std::move(larger));
    table_.store(tables_.back().get(), std::memory_order_release);
  } else {
    tables_.back()->insert(&kept_.back(), hash);
  }
}

}  // namespace plimsoll
