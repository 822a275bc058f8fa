// Einstein sums as ATen runs them (aten/src/ATen/native/Linear.cpp): operands meet from left to
// right, in one batched product where something is summed, else in a broadcast one.
#include "graph/eager/einsum.h"

#include <algorithm>

#include "graph/eager/autocast.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// A tensor with a letter for each of its dimensions.
struct Term {
  Value value;
  std::string letters;
};

bool has(const std::string& letters, char c) { return letters.find(c) != std::string::npos; }

// A term whose labels differ: dimensions of one label meet in a diagonal.
Term term_of(Machine& m, Value value, std::string letters) {
  for (size_t i = 0; i < letters.size(); ++i) {
    for (size_t second; (second = letters.find(letters[i], i + 1)) != std::string::npos;) {
      value = diagonal(m, value, i, second);
      letters.erase(second, 1);
    }
  }
  return {std::move(value), std::move(letters)};
}

// Dimensions that neither the other operand nor `needed` has are summed first.
Term without_own(Machine& m, Term term, const std::string& other, const std::string& needed) {
  std::vector<size_t> axes;
  std::string rest;
  for (size_t i = 0; i < term.letters.size(); ++i) {
    const char c = term.letters[i];
    const bool own = !has(other, c) && !has(needed, c);
    if (own) axes.push_back(i);
    if (!own) rest += c;
  }
  if (axes.empty()) return term;
  return {reduce(m, "reduce", term.value, axes, false, Reduction::kSum), rest};
}

Value ordered(Machine& m, const Term& term, const std::string& order) {
  std::vector<size_t> axes;
  for (const char c : order) axes.push_back(term.letters.find(c));
  return permute(m, term.value, axes);
}

// Every letter of `order` a dimension, of extent one where the term has none.
Value spread(Machine& m, const Term& term, const std::string& order) {
  std::string own;
  for (const char c : order) {
    if (has(term.letters, c)) own += c;
  }
  Value v = ordered(m, term, own);
  for (size_t i = 0; i < order.size(); ++i) {
    if (!has(term.letters, order[i])) v = unsqueeze(m, v, i);
  }
  return v;
}

// [first, second, third], each group of letters one dimension.
Value grouped(Machine& m, const Term& term, const std::string& first, const std::string& second,
              const std::string& third) {
  const Value p = ordered(m, term, first + second + third);
  const Shape& s = p.sizes();
  const size_t one = first.size();
  const size_t two = one + second.size();
  return reshape(m, p, {elements(s, 0, one), elements(s, one, two), elements(s, two, s.size())});
}

// The term as it meets another: without dimensions of extent one that the other has longer, the
// rest in the order of `all`.
Term meeting(Machine& m, const Term& term, const Term& other, const std::string& all) {
  std::vector<size_t> ones;
  std::string rest;
  for (size_t i = 0; i < term.letters.size(); ++i) {
    const size_t second = other.letters.find(term.letters[i]);
    const bool broadcasts = second != std::string::npos && term.value.sizes()[i] == Dim(1) &&
                            other.value.sizes()[second] != Dim(1);
    if (broadcasts) ones.push_back(i);
    if (!broadcasts) rest += term.letters[i];
  }
  const Value value = ones.empty() ? term.value : squeeze(m, term.value, ones);
  std::string order;
  for (const char c : all) {
    if (has(rest, c)) order += c;
  }
  return {ordered(m, {value, rest}, order), order};
}

// The product of two terms, summed over what is not needed any more.
Term product(Machine& m, const Term& first, const Term& second, const std::string& needed,
             const std::string& all) {
  Term a = meeting(m, first, second, all);
  Term b = meeting(m, second, first, all);
  a = without_own(m, std::move(a), b.letters, needed);
  b = without_own(m, std::move(b), a.letters, needed);
  std::string batch, left, right, summed;
  Shape unfolded, sizes_left, sizes_right;
  for (size_t i = 0; i < a.letters.size(); ++i) {
    const char c = a.letters[i];
    const bool shared = has(b.letters, c);
    (shared ? (has(needed, c) ? batch : summed) : left) += c;
    if (shared && has(needed, c)) unfolded.push_back(a.value.sizes()[i]);
    if (!shared) sizes_left.push_back(a.value.sizes()[i]);
  }
  for (size_t i = 0; i < b.letters.size(); ++i) {
    if (has(a.letters, b.letters[i])) continue;
    right += b.letters[i];
    sizes_right.push_back(b.value.sizes()[i]);
  }
  const std::string order = batch + left + right;
  if (summed.empty()) return {mul(m, spread(m, a, order), spread(m, b, order)), order};
  const Value joined =
      bmm(m, grouped(m, a, batch, left, summed), grouped(m, b, batch, summed, right));
  unfolded.insert(unfolded.end(), sizes_left.begin(), sizes_left.end());
  unfolded.insert(unfolded.end(), sizes_right.begin(), sizes_right.end());
  return {view(m, joined, unfolded), order};
}

// All labels as ATen orders dimensions: the result's, then those that are summed, by the alphabet.
std::string order_of(const std::vector<Term>& terms, const std::string& out) {
  std::string summed;
  for (const Term& term : terms) {
    for (const char c : term.letters) {
      if (!has(out, c) && !has(summed, c)) summed += c;
    }
  }
  std::sort(summed.begin(), summed.end());
  return out + summed;
}

}  // namespace

// Under autocast as a whole, products without a sum too (ATen/autocast_mode.h).
Value einsum(Machine& m, std::span<const Value> operands, std::span<const std::string> letters,
             const std::string& out) {
  std::vector<Term> terms;
  for (size_t i = 0; i < operands.size(); ++i)
    terms.push_back(term_of(m, to_autocast(m, operands[i]), letters[i]));
  const std::string all = order_of(terms, out);
  Term whole = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string needed = out;
    for (size_t later = i + 1; later < terms.size(); ++later) needed += terms[later].letters;
    whole = product(m, whole, terms[i], needed, all);
  }
  whole = without_own(m, std::move(whole), "", out);
  return ordered(m, whole, out);
}

}  // namespace plimsoll::eager
