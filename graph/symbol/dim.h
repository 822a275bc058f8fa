// Dim: a symbolic count. A polynomial with integer coefficients over atoms; an atom is a symbol
// (at least 1) or a floor_div, ceil_div, max or min of Dims. The form is canonical, so that
// equality of the mathematics is, wherever we can see it, equality of the objects.
//
//   Dim batch = Dim::symbol("batch");
//   Dim bytes = batch * 3 * 224 * 224 * 4;       // 602112*batch
//   divide_exactly(batch * 768, Dim(12));        // 64*batch
//
// Arithmetic never wraps: a coefficient that leaves 64 bits makes the Dim `overflowed()`, which
// sticks, and which evaluation and Graph verification report as an error.
// Cost: constants never allocate; a Dim with symbols shares its terms, and its multiples share what
// the terms multiply.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "graph/base/diagnostic.h"

namespace plimsoll {

// Values of symbols, by name.
using Binding = std::map<std::string, int64_t, std::less<>>;

class Dim {
 public:
  struct Atom;
  using AtomPtr = std::shared_ptr<const Atom>;
  using Factors = std::vector<AtomPtr>;  // sorted, repeats for powers, never empty
  struct Term {
    int64_t coefficient = 0;
    std::shared_ptr<const Factors> shared;
    const Factors& factors() const { return *shared; }
  };

  Dim(int64_t constant = 0) : constant_(constant) {}  // NOLINT: a number is a Dim
  static Dim symbol(std::string name);

  bool is_constant() const { return !terms_ && !overflowed_; }
  std::optional<int64_t> constant() const;
  bool overflowed() const { return overflowed_; }

  int64_t constant_term() const { return constant_; }
  std::span<const Term> terms() const { return {terms_.get(), terms_ ? count_ : 0}; }

  // The value under a binding. E131 for an unbound symbol, E232 where 64 bits overflow or a divisor
  // is not positive. Many Dims are evaluated faster by one DimEvaluator.
  Result<int64_t> evaluate(const Binding& binding) const;
  // Adds the names of all symbols used.
  void collect_symbols(std::set<std::string>& names) const;
  // "2*batch*(floor((image + 3)/2)) + 1"
  std::string text() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);
  Dim& operator+=(const Dim& b) { return *this = *this + b; }
  Dim& operator-=(const Dim& b) { return *this = *this - b; }
  Dim& operator*=(const Dim& b) { return *this = *this * b; }

 private:
  friend struct DimBuilder;
  int64_t constant_ = 0;
  bool overflowed_ = false;
  uint32_t count_ = 0;  // of terms, where there are any
  std::shared_ptr<const Term[]> terms_;
};

enum class AtomKind : uint8_t { kSymbol, kFloorDiv, kCeilDiv, kMax, kMin };

struct Dim::Atom {
  AtomKind kind = AtomKind::kSymbol;
  std::string name;  // of a symbol
  Dim left, right;   // of the others
};

// Evaluates many Dims under one binding, both of which outlive it. Nearly all Dims of a model speak
// of one symbol, so the last one that was looked up is remembered.
class DimEvaluator {
 public:
  explicit DimEvaluator(const Binding& binding) : binding_(binding) {}
  // As Dim::evaluate().
  Result<int64_t> operator()(const Dim& d);

 private:
  Result<int64_t> atom(const Dim::Atom& atom);

  const Binding& binding_;
  const Dim::Atom* last_ = nullptr;  // a symbol, of value `last_value_`
  int64_t last_value_ = 0;
};

// Division by a constant 0 overflows (it is reported, not undefined).
Dim floor_div(const Dim& a, const Dim& b);
Dim ceil_div(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);
Dim min(const Dim& a, const Dim& b);

// a / b where b divides a as polynomials, else nothing.
std::optional<Dim> divide_exactly(const Dim& a, const Dim& b);

// Bounds that hold for every binding with symbols >= 1; nothing where we cannot tell.
std::optional<int64_t> lower_bound(const Dim& a);
std::optional<int64_t> upper_bound(const Dim& a);
// Yes, no, or unknown, for all bindings.
std::optional<bool> always_equal(const Dim& a, const Dim& b);
std::optional<bool> always_at_most(const Dim& a, const Dim& b);

// A total order on the representation, for maps: it says nothing about values.
int compare_structure(const Dim& a, const Dim& b);
struct StructureOrder {
  bool operator()(const Dim& a, const Dim& b) const { return compare_structure(a, b) < 0; }
};

// A decision taken at one point about Dims that symbols could change. `expression == 0` or
// `expression >= 0` was found to hold, or not.
struct Guard {
  enum class Kind : uint8_t { kZero, kNotNegative } kind = Kind::kZero;
  Dim expression;
  bool holds = false;
};

// Answers comparisons: by algebra where it can, else at the hint, remembering a guard for each
// question once.
class Decider {
 public:
  // `taken`: decided at the same hints before; they are guards from the start.
  explicit Decider(Binding hints, std::vector<Guard> taken = {});
  bool equal(const Dim& a, const Dim& b);
  bool at_most(const Dim& a, const Dim& b);
  bool less(const Dim& a, const Dim& b) { return at_most(a + 1, b); }
  bool is_one(const Dim& a) { return equal(a, Dim(1)); }
  const Binding& hints() const { return hints_; }
  const std::vector<Guard>& guards() const { return guards_; }

 private:
  bool decide(Guard::Kind kind, const Dim& expression);
  Binding hints_;
  std::vector<Guard> guards_;
  std::map<Dim, bool, StructureOrder> zero_, not_negative_;  // what was asked before
};

}  // namespace plimsoll
