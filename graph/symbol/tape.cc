#include "graph/symbol/tape.h"

#include <algorithm>

#include "graph/base/checked.h"

namespace plimsoll {

Tape::Slot Tape::push(const Instruction& instruction) {
  instructions_.push_back(instruction);
  return static_cast<Slot>(instructions_.size() - 1);
}

Tape::Slot Tape::add(const Dim& d) {
  if (d.overflowed()) return push({.kind = Kind::kFailure});
  // What atoms are made of comes first, so that each sum's terms and factors lie together.
  for (const Dim::Term& term : d.terms()) {
    for (const Dim::AtomPtr& factor : term.factors()) atom(factor);
  }
  const auto begin = static_cast<uint32_t>(terms_.size());
  for (const Dim::Term& term : d.terms()) {
    const auto first = static_cast<uint32_t>(factors_.size());
    for (const Dim::AtomPtr& factor : term.factors()) factors_.push_back(atom(factor));
    terms_.push_back({term.coefficient, first, static_cast<uint32_t>(factors_.size())});
  }
  return push({.constant = d.constant_term(),
               .left = begin,
               .right = static_cast<uint32_t>(terms_.size())});
}

Tape::Slot Tape::atom(const Dim::AtomPtr& atom) {
  const auto known = slots_.find(atom.get());
  if (known != slots_.end()) return known->second;
  Slot slot = 0;
  if (atom->kind == AtomKind::kSymbol) {
    const auto [symbol, is_new] = symbols_.try_emplace(atom->name);
    if (is_new) symbol->second = push({.kind = Kind::kSymbol});
    slot = symbol->second;
  } else {
    const Kind kind = atom->kind == AtomKind::kMax       ? Kind::kMax
                      : atom->kind == AtomKind::kMin     ? Kind::kMin
                      : atom->kind == AtomKind::kCeilDiv ? Kind::kCeilDiv
                                                         : Kind::kFloorDiv;
    const Slot left = operand(atom->left), right = operand(atom->right);
    const auto [division, is_new] = divisions_.try_emplace({kind, left, right});
    if (is_new) division->second = push({.kind = kind, .left = left, .right = right});
    slot = division->second;
  }
  slots_.emplace(atom.get(), slot);
  met_.push_back(atom);
  return slot;
}

Tape::Slot Tape::operand(const Dim& d) {
  const auto known = operands_.find(d);
  if (known != operands_.end()) return known->second;
  const Slot slot = add(d);
  operands_.emplace(d, slot);
  return slot;
}

// In the order of DimEvaluator, so that both leave 64 bits at the same points.
bool Tape::sum(const Instruction& instruction, std::span<int64_t> value) {
  bool overflow = false;
  std::fill(value.begin(), value.end(), instruction.constant);
  for (uint32_t t = instruction.left; t < instruction.right; ++t) {
    std::fill(product_.begin(), product_.end(), terms_[t].coefficient);
    for (uint32_t f = terms_[t].begin; f < terms_[t].end; ++f) {
      const auto factor = (*this)[factors_[f]];
      for (size_t p = 0; p < value.size(); ++p)
        overflow |= __builtin_mul_overflow(product_[p], factor[p], &product_[p]);
    }
    for (size_t p = 0; p < value.size(); ++p)
      overflow |= __builtin_add_overflow(value[p], product_[p], &value[p]);
  }
  return !overflow;
}

bool Tape::run(std::span<const Binding> points) {
  points_ = points.size();
  values_.resize(instructions_.size() * points_);
  product_.resize(points_);
  for (const auto& [name, slot] : symbols_) {
    for (size_t p = 0; p < points_; ++p) {
      const auto bound = points[p].find(name);
      if (bound == points[p].end()) return false;
      values_[slot * points_ + p] = bound->second;
    }
  }
  for (size_t at = 0; at < instructions_.size(); ++at) {
    const Instruction& instruction = instructions_[at];
    const std::span<int64_t> value(values_.data() + at * points_, points_);
    if (instruction.kind == Kind::kSum) {
      if (!sum(instruction, value)) return false;
      continue;
    }
    const auto left = (*this)[instruction.left], right = (*this)[instruction.right];
    const auto each = [&](const auto& of) {
      std::transform(left.begin(), left.end(), right.begin(), value.begin(), of);
    };
    const auto divisible = [&] {
      return std::all_of(right.begin(), right.end(), [](int64_t divisor) { return divisor > 0; });
    };
    switch (instruction.kind) {
      case Kind::kMax:
        each([](int64_t a, int64_t b) { return std::max(a, b); });
        break;
      case Kind::kMin:
        each([](int64_t a, int64_t b) { return std::min(a, b); });
        break;
      case Kind::kFloorDiv:
        if (!divisible()) return false;
        each(floor_divide);
        break;
      case Kind::kCeilDiv:
        if (!divisible()) return false;
        each(ceil_divide);
        break;
      case Kind::kFailure:
        return false;
      default:
        break;  // a symbol's values are there
    }
  }
  return true;
}

}  // namespace plimsoll
