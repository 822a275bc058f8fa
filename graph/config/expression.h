// Integer expressions in configs: "4*hidden", "heads*head_size", "widths[i]", "max(1, groups)".
//
// A name stands for a hyper-parameter, a repeat's index or a block's argument. A hyper-parameter
// stays a symbol as long as it only enters sizes, so that one compiled step serves a sweep over it;
// where a number is needed (a repeat's count, a kernel's width) the Binder gives its value and
// remembers that this parameter now decides the structure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/symbol/dim.h"

namespace plimsoll::config {

// What a name can mean: a count, a real number, a list of counts, a word.
using Value = std::variant<Dim, double, std::vector<Dim>, std::string>;

// Names in scope, with those of the surrounding scope behind them. `outer` must outlive it.
class Environment {
 public:
  explicit Environment(const Environment* outer = nullptr) : outer_(outer) {}
  void define(std::string name, Value value) { values_[std::move(name)] = std::move(value); }
  const Value* find(std::string_view name) const;
  std::vector<std::string> names() const;

 private:
  const Environment* outer_;
  std::map<std::string, Value, std::less<>> values_;
};

// Turns Dims into numbers where a number is needed.
class Binder {
 public:
  // `defaults` holds a value for every symbol; those in `free` never become numbers.
  Binder(Binding defaults, std::set<std::string> free)
      : defaults_(std::move(defaults)), free_(std::move(free)) {}
  // The value of `d` at the defaults. E346 where it depends on a symbol that must stay free.
  Result<int64_t> integer(const Dim& d);
  const Binding& defaults() const { return defaults_; }
  // The symbols whose values were used.
  const std::set<std::string>& used() const { return used_; }

 private:
  Binding defaults_;
  std::set<std::string> free_;
  std::set<std::string> used_;
};

// The value of an expression: whole numbers, names, + - * / // %, parentheses, list[index],
// min(a, b), max(a, b), ceil_div(a, b), equal(a, b) and less(a, b) (1 or 0), power(a, b), sqrt(a)
// rounded down, count(list), contains(list, a) (1 or 0), element(list, index, otherwise). `/` must
// divide evenly;
// `//` rounds down. E343 unknown name (with the nearest), E344 not an expression, E345 uneven or
// zero division, an index outside its list, E346 see Binder, E232 overflow. Places are the caller's
// to add. Cost: linear; parentheses nest at most 32 deep.
Result<Dim> evaluate(std::string_view text, const Environment& environment, Binder& binder);

}  // namespace plimsoll::config
