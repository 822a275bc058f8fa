#include "graph/substitution.h"

#include <map>
#include <string>

namespace plimsoll {
namespace {

class Substitution {
 public:
  explicit Substitution(const Binding& fixed) : fixed_(fixed) {}

  // A Dim that leaves 64 bits on the way stays as it was, to fail where it is evaluated.
  Dim operator()(const Dim& d) {
    if (d.is_constant() || d.overflowed()) return d;
    Dim sum = d.constant_term();
    for (const Dim::Term& term : d.terms()) {
      Dim product = term.coefficient;
      for (const Dim::AtomPtr& factor : term.factors) product *= atom(*factor);
      sum += product;
    }
    return sum.overflowed() ? d : sum;
  }

 private:
  Dim atom(const Dim::Atom& a) {
    if (a.kind == AtomKind::kSymbol) {
      if (const auto known = fixed_.find(a.name); known != fixed_.end()) return known->second;
      // One atom for a symbol, which an evaluator then knows again.
      return symbols_.try_emplace(a.name, Dim::symbol(a.name)).first->second;
    }
    const Dim left = (*this)(a.left), right = (*this)(a.right);
    switch (a.kind) {
      case AtomKind::kMax:
        return max(left, right);
      case AtomKind::kMin:
        return min(left, right);
      case AtomKind::kCeilDiv:
        return ceil_div(left, right);
      default:
        return floor_div(left, right);
    }
  }

  const Binding& fixed_;
  std::map<std::string, Dim, std::less<>> symbols_;
};

template <class... Dims>
void fill(Substitution& substitution, Dims&... dims) {
  ((dims = substitution(dims)), ...);
}

void fill_problem(Substitution& s, RowsProblem<Dim>& p) { fill(s, p.rows, p.columns); }
void fill_problem(Substitution& s, GemmProblem<Dim>& p) { fill(s, p.m, p.n, p.k, p.batch); }
void fill_problem(Substitution& s, ConvProblem<Dim>& p) {
  fill(s, p.n, p.c, p.k, p.groups);
  for (auto* extents : {&p.in, &p.out, &p.filter, &p.pad}) {
    for (Dim& extent : *extents) extent = s(extent);
  }
}
void fill_problem(Substitution& s, RecurrentProblem<Dim>& p) {
  fill(s, p.input, p.hidden, p.batch, p.timesteps);
}
void fill_problem(Substitution& s, AttentionProblem<Dim>& p) {
  fill(s, p.batch, p.heads, p.kv_heads, p.queries, p.keys, p.head_size, p.value_size);
}

}  // namespace

Dim substitute(const Dim& d, const Binding& fixed) { return Substitution(fixed)(d); }

Step substitute(Step step, const Binding& fixed) {
  Substitution substitution(fixed);
  for (Buffer& buffer : step.buffers) buffer.bytes = substitution(buffer.bytes);
  for (Kernel& kernel : step.kernels) {
    fill(substitution, kernel.flop, kernel.read, kernel.written);
    std::visit([&](auto& problem) { fill_problem(substitution, problem); }, kernel.problem);
  }
  for (Guard& guard : step.guards) guard.expression = substitution(guard.expression);
  return step;
}

}  // namespace plimsoll
