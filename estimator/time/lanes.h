// Lanes: one formula at several points of a sweep at once, in the machine's vectors. A formula is
// then a template on its number: double for one point, Lanes for kLaneCount of them. Both round
// alike, and on every machine, so a sweep says what an estimate says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

// Built for such vectors too, where the compiler can have the program choose as it starts.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define PLIMSOLL_WIDE [[gnu::target_clones("avx2", "default")]]
#else
#define PLIMSOLL_WIDE
#endif
// What such a function calls becomes part of it.
#define PLIMSOLL_WITHIN [[gnu::always_inline]] inline
// ... also without optimisation: called, a function built for shorter vectors would hand them back
// in other registers.
#define PLIMSOLL_WITHIN_LAMBDA __attribute__((always_inline))

namespace plimsoll {

// Lanes are two vectors, as long as most machines have them: GCC 12 takes longer ones apart lane by
// lane where it compares them. Two do not wait for each other.
inline constexpr size_t kVectorBytes = 32;
template <class Value>
using VectorOf [[gnu::vector_size(kVectorBytes)]] = Value;

// Comparisons of lanes, one each: all bits or none.
template <class Integer>
struct alignas(kVectorBytes) Truths {
  VectorOf<Integer> low, high;
};

template <class Value>
struct alignas(kVectorBytes) LanesOf {
  static constexpr size_t kCount = 2 * kVectorBytes / sizeof(Value);
  using Vector = VectorOf<Value>;
  using Integer = std::conditional_t<sizeof(Value) == sizeof(int64_t), int64_t, int32_t>;
  using Truth = Truths<Integer>;
  Vector low, high;

  LanesOf() = default;
  PLIMSOLL_WITHIN LanesOf(Value all) : low(Vector{} + all), high(low) {}  // NOLINT: one for all
  PLIMSOLL_WITHIN LanesOf(const Vector& first, const Vector& second) : low(first), high(second) {}
  PLIMSOLL_WITHIN Value operator[](size_t i) const {
    return i < kCount / 2 ? low[i] : high[i - kCount / 2];
  }
  PLIMSOLL_WITHIN void set(size_t i, Value value) {
    if (i < kCount / 2) {
      low[i] = value;
    } else {
      high[i - kCount / 2] = value;
    }
  }

  using L = LanesOf;
  PLIMSOLL_WITHIN friend L operator+(const L& a, const L& b) {
    return {a.low + b.low, a.high + b.high};
  }
  PLIMSOLL_WITHIN friend L operator-(const L& a, const L& b) {
    return {a.low - b.low, a.high - b.high};
  }
  PLIMSOLL_WITHIN friend L operator*(const L& a, const L& b) {
    return {a.low * b.low, a.high * b.high};
  }
  PLIMSOLL_WITHIN friend L operator/(const L& a, const L& b) {
    return {a.low / b.low, a.high / b.high};
  }
  PLIMSOLL_WITHIN L& operator+=(const L& b) { return *this = *this + b; }
  PLIMSOLL_WITHIN L& operator*=(const L& b) { return *this = *this * b; }
  PLIMSOLL_WITHIN friend Truth operator<(const L& a, const L& b) {
    return {a.low < b.low, a.high < b.high};
  }
  PLIMSOLL_WITHIN friend Truth operator>(const L& a, const L& b) { return b < a; }
  PLIMSOLL_WITHIN friend Truth operator<=(const L& a, const L& b) {
    return {a.low <= b.low, a.high <= b.high};
  }
  PLIMSOLL_WITHIN friend Truth operator>=(const L& a, const L& b) { return b <= a; }
  PLIMSOLL_WITHIN friend Truth operator==(const L& a, const L& b) {
    return {a.low == b.low, a.high == b.high};
  }
  PLIMSOLL_WITHIN friend L select(const Truth& which, const L& a, const L& b) {
    return {which.low ? a.low : b.low, which.high ? a.high : b.high};
  }
  PLIMSOLL_WITHIN friend L absolute(const L& x) {
    using Bits = VectorOf<Integer>;
    constexpr Integer kAllButSign = std::numeric_limits<Integer>::max();
    return {reinterpret_cast<Vector>(reinterpret_cast<Bits>(x.low) & kAllButSign),
            reinterpret_cast<Vector>(reinterpret_cast<Bits>(x.high) & kAllButSign)};
  }
};
using Lanes = LanesOf<double>;
inline constexpr size_t kLaneCount = Lanes::kCount;

// bool for one point.
template <class Number>
using TruthOf = decltype(Number{} < Number{});

PLIMSOLL_WITHIN double select(bool which, double a, double b) { return which ? a : b; }
PLIMSOLL_WITHIN bool select(bool which, bool a, bool b) { return which ? a : b; }
template <class Integer>
PLIMSOLL_WITHIN Truths<Integer> select(const Truths<Integer>& which, const Truths<Integer>& a,
                                       const Truths<Integer>& b) {
  return {which.low ? a.low : b.low, which.high ? a.high : b.high};
}
template <class Number>
PLIMSOLL_WITHIN Number larger(const Number& a, const Number& b) {
  return select(a < b, b, a);
}
template <class Number>
PLIMSOLL_WITHIN Number smaller(const Number& a, const Number& b) {
  return select(a < b, a, b);
}
PLIMSOLL_WITHIN double absolute(double x) { return x < 0 ? -x : x; }

PLIMSOLL_WITHIN bool any(bool truth) { return truth; }
template <class Integer>
PLIMSOLL_WITHIN bool any(const Truths<Integer>& truths) {
  const VectorOf<Integer> either = truths.low | truths.high;
  Integer all = 0;
  for (size_t i = 0; i < kVectorBytes / sizeof(Integer); ++i) all |= either[i];
  return all != 0;
}

// Of all lanes, by halves, so that none waits for all others.
template <class Value, size_t kBytes, class Join>
PLIMSOLL_WITHIN Value joined(const void* lanes, const Join& join) {
  using Half [[gnu::vector_size(kBytes / 2)]] = Value;
  Half low, high;
  std::memcpy(&low, lanes, sizeof low);
  std::memcpy(&high, static_cast<const char*>(lanes) + sizeof low, sizeof high);
  const Half both = join(low, high);
  if constexpr (sizeof both == 2 * sizeof(Value)) {
    return join(both[0], both[1]);
  } else {
    return joined<Value, kBytes / 2>(&both, join);
  }
}
template <class Value, class Join>
PLIMSOLL_WITHIN Value joined(const LanesOf<Value>& x, const Join& join) {
  const VectorOf<Value> both = join(x.low, x.high);
  return joined<Value, kVectorBytes>(&both, join);
}
template <class Value>
PLIMSOLL_WITHIN Value sum(const LanesOf<Value>& x) {
  return joined(x, [](const auto& a, const auto& b) PLIMSOLL_WITHIN_LAMBDA { return a + b; });
}
template <class Value>
PLIMSOLL_WITHIN Value highest(const LanesOf<Value>& x) {
  return joined(x,
                [](const auto& a, const auto& b) PLIMSOLL_WITHIN_LAMBDA { return a < b ? b : a; });
}

PLIMSOLL_WITHIN double highest(double x) { return x; }

PLIMSOLL_WITHIN double lane(double number, size_t) { return number; }
PLIMSOLL_WITHIN double lane(const Lanes& numbers, size_t i) { return numbers[i]; }
PLIMSOLL_WITHIN bool lane(bool truth, size_t) { return truth; }
PLIMSOLL_WITHIN bool lane(const Lanes::Truth& truths, size_t i) {
  return (i < kLaneCount / 2 ? truths.low[i] : truths.high[i - kLaneCount / 2]) != 0;
}

// Of numbers from 0 on. Up to 2^52 adding it leaves no place for a fraction; beyond there is none.
// (The standard's functions are calls without SSE 4.1.)
inline constexpr double kNoFraction = 4503599627370496.0;
template <class Number>
PLIMSOLL_WITHIN Number rounded_up(const Number& x) {
  const Number near = (x + kNoFraction) - kNoFraction;
  return select(x < kNoFraction, near + select(near < x, Number(1), Number(0)), x);
}
template <class Number>
PLIMSOLL_WITHIN Number rounded_down(const Number& x) {
  const Number near = (x + kNoFraction) - kNoFraction;
  return select(x < kNoFraction, near - select(near > x, Number(1), Number(0)), x);
}

}  // namespace plimsoll
