// Choices by chance, the same for the same seed on every machine: no std::distribution.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace plimsoll::test {

class Chance {
 public:
  explicit Chance(uint64_t seed) : bits_(seed) {}
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(bits_() % static_cast<uint64_t>(high - low + 1));
  }
  bool one_in(int64_t n) { return between(1, n) == 1; }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[between(0, static_cast<int64_t>(from.size()) - 1)];
  }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(between(0, static_cast<int64_t>(from.size()) - 1))];
  }

 private:
  std::mt19937_64 bits_;
};

}  // namespace plimsoll::test
