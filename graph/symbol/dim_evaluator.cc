// The value of a Dim at a point (graph/symbol/dim.h).
#include <fmt/format.h>

#include <algorithm>

#include "graph/base/checked.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/symbol/dim.h"

namespace plimsoll {
namespace {

tl::unexpected<Diagnostics> overflow_error(const Dim& d) {
  return error("E232", fmt::format("{} overflows 64 bits", d.text()));
}

}  // namespace

Result<int64_t> DimEvaluator::atom(const Dim::Atom& atom) {
  if (atom.kind == AtomKind::kSymbol) {
    const auto found = binding_.find(atom.name);
    if (found == binding_.end()) {
      return error("E131", fmt::format("dimension '{}' has no value", atom.name), {},
                   "add: " + setting_entry("dim", atom.name, "N"));
    }
    last_ = &atom;
    last_value_ = found->second;
    return found->second;
  }
  auto left = (*this)(atom.left);
  if (!left) return left;
  auto right = (*this)(atom.right);
  if (!right) return right;
  switch (atom.kind) {
    case AtomKind::kMax:
      return std::max(*left, *right);
    case AtomKind::kMin:
      return std::min(*left, *right);
    default:
      break;
  }
  if (*right <= 0) {
    return error("E232", fmt::format("division of {} by {}, which is {}", atom.left.text(),
                                     atom.right.text(), *right));
  }
  return atom.kind == AtomKind::kFloorDiv ? floor_divide(*left, *right)
                                          : ceil_divide(*left, *right);
}

Result<int64_t> DimEvaluator::operator()(const Dim& d) {
  if (d.is_constant()) return d.constant_term();
  if (d.overflowed()) return overflow_error(d);
  int64_t sum = d.constant_term();
  for (const Dim::Term& t : d.terms()) {
    int64_t product = t.coefficient;
    for (const Dim::AtomPtr& f : t.factors()) {
      int64_t value = last_value_;
      if (f.get() != last_) {
        auto found = atom(*f);
        if (!found) return found;
        value = *found;
      }
      const auto p = checked_multiply(product, value);
      if (!p) return overflow_error(d);
      product = *p;
    }
    const auto s = checked_add(sum, product);
    if (!s) return overflow_error(d);
    sum = *s;
  }
  return sum;
}

Result<int64_t> Dim::evaluate(const Binding& binding) const { return DimEvaluator(binding)(*this); }

}  // namespace plimsoll
