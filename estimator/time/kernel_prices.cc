#include "estimator/time/kernel_prices.h"

#include <algorithm>

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

const KernelPrices::Kept* KernelPrices::Part::find(const KernelAt& kernel, uint32_t hash) const {
  if (places.empty()) return nullptr;
  const size_t last = places.size() - 1;
  for (size_t at = hash & last; places[at].number != 0; at = (at + 1) & last) {
    if (places[at].hash != hash) continue;
    const Kept& found = kept[places[at].number - 1];
    if (found.kernel == kernel) return &found;
  }
  return nullptr;
}

void KernelPrices::Part::insert(Place place) {
  const size_t last = places.size() - 1;
  size_t at = place.hash & last;
  while (places[at].number != 0) at = (at + 1) & last;
  places[at] = place;
}

void KernelPrices::Part::grow() {
  constexpr size_t kFewest = 64;
  std::vector<Place> before(std::max(kFewest, 2 * places.size()));
  before.swap(places);
  for (const Place& place : before) {
    if (place.number != 0) insert(place);
  }
}

std::optional<KernelTime> KernelPrices::find(const KernelAt& kernel) const {
  const uint64_t hash = hash_of(kernel);
  const Part& part = parts_[part_of(hash)];
  const std::scoped_lock lock(part.mutex);
  const Kept* found = part.find(kernel, static_cast<uint32_t>(hash));
  return found == nullptr ? std::nullopt : std::optional(found->time);
}

void KernelPrices::keep(const KernelAt& kernel, const KernelTime& time) {
  const uint64_t whole = hash_of(kernel);
  const auto hash = static_cast<uint32_t>(whole);
  Part& part = parts_[part_of(whole)];
  const std::scoped_lock lock(part.mutex);
  if (part.find(kernel, hash) != nullptr) return;  // another thread was first
  if (part.kept.size() >= kMost / kParts) {
    part.kept.clear();
    part.places.clear();
  }
  if (2 * part.kept.size() >= part.places.size()) part.grow();
  part.kept.push_back({kernel, time});
  part.insert({.hash = hash, .number = static_cast<uint32_t>(part.kept.size())});
}

}  // namespace plimsoll
