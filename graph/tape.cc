#include "graph/tape.h"

#include <algorithm>

#include "graph/base/checked.h"

namespace plimsoll {

Tape::Slot Tape::push(const Instruction& instruction) {
  instructions_.push_back(instruction);
  values_.push_back(0);
  return static_cast<Slot>(instructions_.size() - 1);
}

Tape::Slot Tape::add(const Dim& d) {
  if (d.overflowed()) return push({.kind = Kind::kFailure});
  std::vector<Term> terms;
  for (const Dim::Term& term : d.terms()) {
    std::vector<Slot> factors;
    for (const Dim::AtomPtr& factor : term.factors) factors.push_back(atom(factor));
    const auto begin = static_cast<uint32_t>(factors_.size());
    factors_.insert(factors_.end(), factors.begin(), factors.end());
    terms.push_back({term.coefficient, begin, static_cast<uint32_t>(factors_.size())});
  }
  const auto begin = static_cast<uint32_t>(terms_.size());
  terms_.insert(terms_.end(), terms.begin(), terms.end());
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
bool Tape::sum(const Instruction& instruction, int64_t& value) const {
  bool overflow = false;
  value = instruction.constant;
  for (uint32_t t = instruction.left; t < instruction.right; ++t) {
    int64_t product = terms_[t].coefficient;
    for (uint32_t f = terms_[t].begin; f < terms_[t].end; ++f)
      overflow |= __builtin_mul_overflow(product, values_[factors_[f]], &product);
    overflow |= __builtin_add_overflow(value, product, &value);
  }
  return !overflow;
}

bool Tape::run(const Binding& binding) {
  for (const auto& [name, slot] : symbols_) {
    const auto bound = binding.find(name);
    if (bound == binding.end()) return false;
    values_[slot] = bound->second;
  }
  for (size_t at = 0; at < instructions_.size(); ++at) {
    const Instruction& instruction = instructions_[at];
    int64_t& value = values_[at];
    if (instruction.kind == Kind::kSum) {
      if (!sum(instruction, value)) return false;
      continue;
    }
    const int64_t left = values_[instruction.left], right = values_[instruction.right];
    switch (instruction.kind) {
      case Kind::kMax:
        value = std::max(left, right);
        break;
      case Kind::kMin:
        value = std::min(left, right);
        break;
      case Kind::kFloorDiv:
        if (right <= 0) return false;
        value = floor_divide(left, right);
        break;
      case Kind::kCeilDiv:
        if (right <= 0) return false;
        value = ceil_divide(left, right);
        break;
      case Kind::kFailure:
        return false;
      default:
        break;  // a symbol's value is there
    }
  }
  return true;
}

}  // namespace plimsoll
