#include "estimator/time/kernel_prices.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <variant>

namespace plimsoll {
namespace {

// A random odd number for each place that a word may have in a kernel (splitmix64).
constexpr size_t kWords = 32;
constexpr auto kMultipliers = [] {
  std::array<std::array<uint64_t, 2>, kWords> numbers{};
  uint64_t state = 0;
  for (auto& pair : numbers) {
    for (uint64_t& number : pair) {
      uint64_t z = state += 0x9e3779b97f4a7c15;
      z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
      z = (z ^ z >> 27) * 0x94d049bb133111eb;
      number = (z ^ z >> 31) | 1;
    }
  }
  return numbers;
}();

// Sums of words times those numbers: the products do not wait for each other. Each problem is taken
// apart whole, so that one with a field more does not compile.
struct Sums {
  uint64_t low = 0, high = 0;
  size_t at = 0;

  template <class... Words>
  void add(Words... words) {
    (add_word(static_cast<uint64_t>(words)), ...);
  }
  void add_word(uint64_t word) {
    low += word * kMultipliers[at][0];
    high += word * kMultipliers[at][1];
    ++at;
  }
  // Two extents in a word, which only one beyond 2^32 would mix.
  void add_extents(const std::array<int64_t, 3>& a, const std::array<int64_t, 3>& b) {
    for (size_t i = 0; i < 3; ++i) {
      add(static_cast<uint64_t>(a[i]) ^ std::rotl(static_cast<uint64_t>(b[i]), 32));
    }
  }

  void operator()(const RowsProblem<int64_t>& problem) {
    const auto& [rows, columns] = problem;
    add(rows, columns);
  }
  void operator()(const GemmProblem<int64_t>& problem) {
    const auto& [m, n, k, batch, a_t, b_t, accumulate] = problem;
    add(m, n, k, batch, a_t | b_t << 1 | accumulate << 2);
  }
  void operator()(const ConvProblem<int64_t>& problem) {
    const auto& [n, c, k, groups, in, out, filter, pad, stride, dilation, channels_last] = problem;
    add(n, c, k, groups << 1 | channels_last);
    add_extents(in, out);
    add_extents(filter, pad);
    add_extents(stride, dilation);
  }
  void operator()(const RecurrentProblem<int64_t>& problem) {
    const auto& [cell, input, hidden, batch, timesteps, layers, directions, skip_input, unrolled] =
        problem;
    const int form = unrolled ? 1 + static_cast<int>(*unrolled) : 0;
    add(input, hidden, batch, timesteps, layers, directions,
        static_cast<int>(cell) | skip_input << 8 | form << 9);
  }
  void operator()(const AttentionProblem<int64_t>& problem) {
    const auto& [form, batch, heads, kv_heads, queries, keys, head_size, value_size, causal, masked,
                 dropout] = problem;
    add(batch, heads, kv_heads, queries, keys, head_size, value_size,
        static_cast<int>(form) | causal << 8 | masked << 9 | dropout << 10);
  }
};

// Of an operator's name, eight letters at a time.
uint64_t folded(std::string_view name) {
  uint64_t sum = name.size();
  for (size_t at = 0; at < name.size(); at += 8) {
    uint64_t letters = 0;
    std::memcpy(&letters, name.data() + at, std::min<size_t>(8, name.size() - at));
    sum = (sum ^ letters) * kMultipliers[0][0];
    sum ^= sum >> 32;
  }
  return sum;
}

}  // namespace

KernelPrices::Fingerprint KernelPrices::fingerprint(const KernelAt& kernel) {
  const auto& [kernel_class, pass, dtype, tensor_core, op, flop, read, written, problem] = kernel;
  Sums sums;
  sums.add(static_cast<uint64_t>(kernel_class) | static_cast<uint64_t>(pass) << 8 |
               static_cast<uint64_t>(dtype) << 16 | static_cast<uint64_t>(tensor_core) << 24 |
               problem.index() << 32,
           flop, read, written, folded(op));
  std::visit([&](const auto& known) { sums(known); }, problem);
  return {sums.low ^ sums.low >> 32, sums.high};  // the low bits choose a place
}

const KernelTime* KernelPrices::Table::find(Fingerprint of) const {
  const size_t last = places.size() - 1;
  for (size_t at = of.low & last;; at = (at + 1) & last) {
    const KernelTime* time = places[at].time.load(std::memory_order_acquire);
    if (time == nullptr || places[at].of == of) return time;
  }
}

void KernelPrices::Table::insert(Fingerprint of, const KernelTime* time) {
  const size_t last = places.size() - 1;
  size_t at = of.low & last;
  while (places[at].time.load(std::memory_order_relaxed) != nullptr) at = (at + 1) & last;
  places[at].of = of;
  places[at].time.store(time, std::memory_order_release);
}

KernelPrices::KernelPrices() {
  constexpr size_t kFewest = 1024;
  tables_.push_back(std::make_unique<Table>(kFewest));
  table_.store(tables_.back().get(), std::memory_order_release);
}

const KernelTime* KernelPrices::find(const KernelAt& kernel) const {
  return table_.load(std::memory_order_acquire)->find(fingerprint(kernel));
}

void KernelPrices::find(std::span<const KernelAt* const> kernels,
                        std::span<const KernelTime*> found) const {
  constexpr size_t kBlock = 32;
  const Table& table = *table_.load(std::memory_order_acquire);
  std::array<Fingerprint, kBlock> of;
  for (size_t begin = 0; begin < kernels.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, kernels.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      of[i] = fingerprint(*kernels[begin + i]);
      __builtin_prefetch(&table.first(of[i]));
    }
    for (size_t i = 0; i < count; ++i) {
      const KernelTime* time = found[begin + i] = table.find(of[i]);
      if (time == nullptr) continue;
      __builtin_prefetch(time);
      __builtin_prefetch(reinterpret_cast<const char*>(time + 1) - 1);  // its second line
    }
  }
}

void KernelPrices::keep(const KernelAt& kernel, const KernelTime& time) {
  const Fingerprint of = fingerprint(kernel);
  const std::scoped_lock lock(mutex_);
  Table* table = tables_.back().get();
  if (times_.size() >= kMost || table->find(of) != nullptr) return;
  times_.push_back(time);
  if (2 * times_.size() > table->places.size()) {
    auto larger = std::make_unique<Table>(2 * table->places.size());
    for (const Place& place : table->places) {
      if (const KernelTime* known = place.time.load(std::memory_order_relaxed)) {
        larger->insert(place.of, known);
      }
    }
    tables_.push_back(std::move(larger));
    table = tables_.back().get();
  }
  table->insert(of, &times_.back());
  table_.store(table, std::memory_order_release);
}

}  // namespace plimsoll
