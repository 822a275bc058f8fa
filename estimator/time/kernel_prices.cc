#include "estimator/time/kernel_prices.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <variant>

namespace plimsoll {
namespace {

// A random number for each place that a word may have in a kernel (splitmix64).
constexpr size_t kWords = 32;
constexpr auto kKeys = [] {
  std::array<uint64_t, kWords> numbers{};
  uint64_t state = 0;
  for (uint64_t& number : numbers) {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    number = z ^ z >> 31;
  }
  return numbers;
}();

__extension__ using Wide = unsigned __int128;

// NH of Black et al. (UMAC, CRYPTO 1999): words go in by pairs, each with its key added, and their
// products are summed up in 128 bits: half a multiplication a word, none waiting for another. Each
// problem is taken apart whole, so that one with a field more does not compile.
struct Sum {
  Wide sum = 0;
  size_t at = 0;

  template <class A, class B>
  void add(A a, B b) {
    sum += Wide{static_cast<uint64_t>(a) + kKeys[at]} * (static_cast<uint64_t>(b) + kKeys[at + 1]);
    at += 2;
  }
  // Two extents in a word, which only one beyond 2^32 would mix.
  static uint64_t both(int64_t a, int64_t b) {
    return static_cast<uint64_t>(a) ^ std::rotl(static_cast<uint64_t>(b), 32);
  }

  void operator()(const RowsProblem<int64_t>& problem) {
    const auto& [rows, columns] = problem;
    add(rows, columns);
  }
  void operator()(const GemmProblem<int64_t>& problem) {
    const auto& [m, n, k, batch, a_t, b_t, accumulate] = problem;
    add(m, n);
    add(both(k, a_t | b_t << 1 | accumulate << 2), batch);
  }
  void operator()(const ConvProblem<int64_t>& problem) {
    const auto& [n, c, k, groups, in, out, filter, pad, stride, dilation, channels_last] = problem;
    add(both(n, channels_last), both(c, groups));
    add(k, both(in[0], out[0]));
    for (size_t i = 1; i < 3; ++i) add(in[i], out[i]);
    for (size_t i = 0; i < 3; ++i) add(both(filter[i], pad[i]), both(stride[i], dilation[i]));
  }
  void operator()(const RecurrentProblem<int64_t>& problem) {
    const auto& [cell, input, hidden, batch, timesteps, layers, directions, skip_input, unrolled] =
        problem;
    const int form = unrolled ? 1 + static_cast<int>(*unrolled) : 0;
    add(input, hidden);
    add(batch, timesteps);
    add(both(layers, directions), static_cast<int>(cell) | skip_input << 8 | form << 9);
  }
  void operator()(const AttentionProblem<int64_t>& problem) {
    const auto& [form, batch, heads, kv_heads, queries, keys, head_size, value_size, causal, masked,
                 dropout] = problem;
    add(batch, both(heads, kv_heads));
    add(queries, keys);
    add(both(head_size, value_size),
        static_cast<int>(form) | causal << 8 | masked << 9 | dropout << 10);
  }
};

template <class Word>
uint64_t load(const char* at) {
  Word word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// An operator's name: with its length beside them, no two of up to 16 letters have these words.
std::array<uint64_t, 2> letters(std::string_view name) {
  const size_t size = name.size();
  const char* const first = name.data();
  if (size < 4) {
    if (size == 0) return {};
    return {load<uint8_t>(first) | load<uint8_t>(first + size / 2) << 8 |
                load<uint8_t>(first + size - 1) << 16,
            0};
  }
  if (size < 8) return {load<uint32_t>(first), load<uint32_t>(first + size - 4)};
  std::array<uint64_t, 2> words = {load<uint64_t>(first), load<uint64_t>(first + size - 8)};
  for (size_t at = 8; at + 8 < size; at += 8)
    words[0] = std::rotl(words[0] * kKeys.back(), 29) ^ load<uint64_t>(first + at);
  return words;
}

}  // namespace

KernelPrices::Fingerprint KernelPrices::fingerprint(const KernelAt& kernel) {
  const auto& [kernel_class, pass, dtype, tensor_core, op, flop, read, written, problem] = kernel;
  const uint64_t kind = static_cast<uint64_t>(kernel_class) | static_cast<uint64_t>(pass) << 8 |
                        static_cast<uint64_t>(dtype) << 16 |
                        static_cast<uint64_t>(tensor_core) << 24 | problem.index() << 32 |
                        op.size() << 40;
  const auto name = letters(op);
  Sum sum;
  sum.add(kind, flop);
  sum.add(read, written);
  sum.add(name[0], name[1]);
  std::visit([&](const auto& known) { sum(known); }, problem);
  const auto low = static_cast<uint64_t>(sum.sum);
  // Low bits choose a place: those of products know their factors' low bits alone.
  return {low ^ low >> 32, static_cast<uint64_t>(sum.sum >> 64)};
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
