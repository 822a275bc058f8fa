#include "graph/config/expression.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "graph/base/checked.h"
#include "graph/base/escape.h"
#include "graph/base/try.h"

namespace plimsoll::config {

const Value* Environment::find(std::string_view name) const {
  for (const Environment* scope = this; scope; scope = scope->outer_) {
    const auto found = scope->values_.find(name);
    if (found != scope->values_.end()) return &found->second;
  }
  return nullptr;
}

std::vector<std::string> Environment::names() const {
  std::vector<std::string> names;
  for (const Environment* scope = this; scope; scope = scope->outer_) {
    for (const auto& [name, value] : scope->values_) names.push_back(name);
  }
  return names;
}

Result<int64_t> Binder::integer(const Dim& d) {
  if (const auto constant = d.constant()) return *constant;
  std::set<std::string> symbols;
  d.collect_symbols(symbols);
  for (const std::string& symbol : symbols) {
    if (!free_.count(symbol)) continue;
    return error("E346", fmt::format("{} depends on '{}', which is bound only when a step is "
                                     "evaluated; here a number is needed",
                                     d.text(), shortened(symbol)));
  }
  used_.insert(symbols.begin(), symbols.end());
  return d.evaluate(defaults_);
}

namespace {

constexpr int kMostNested = 32;
constexpr size_t kLongest = 1024;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Recursive descent that computes as it reads. Recursion is bounded by kMostNested.
class Evaluator {
 public:
  Evaluator(std::string_view text, const Environment& environment, Binder& binder)
      : text_(text), environment_(environment), binder_(binder) {}

  Result<Dim> run() {
    if (text_.size() > kLongest) return fail("E344", "is longer than 1024 characters");
    auto value = sum();
    if (!value) return value;
    peek();
    if (at_ != text_.size()) return expected("an operator");
    if (value->overflowed()) return fail("E232", "overflows 64 bits");
    return value;
  }

 private:
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  tl::unexpected<Diagnostics> fail(std::string code, std::string_view what) {
    return error(std::move(code), fmt::format("expression \"{}\" {}", shortened(text_), what));
  }
  tl::unexpected<Diagnostics> expected(std::string_view what) {
    peek();
    return fail("E344", at_ == text_.size()
                            ? fmt::format("ends where {} should follow", what)
                            : fmt::format("needs {} at character {}", what, at_ + 1));
  }

  Result<Dim> sum() {
    auto left = product();
    while (left && (peek() == '+' || peek() == '-')) {
      const char op = text_[at_++];
      auto right = product();
      if (!right) return right;
      left = op == '+' ? *left + *right : *left - *right;
    }
    return left;
  }

  Result<Dim> product() {
    auto left = factor();
    while (left && (peek() == '*' || peek() == '/' || peek() == '%')) {
      const char op = text_[at_++];
      const bool floors = op == '/' && at_ < text_.size() && text_[at_] == '/';
      if (floors) ++at_;
      auto right = factor();
      if (!right) return right;
      left = op == '*' ? Result<Dim>(*left * *right) : divide(*left, *right, floors, op == '%');
    }
    return left;
  }

  Result<Dim> divide(const Dim& a, const Dim& b, bool floors, bool remainder) {
    if (!floors && !remainder) {
      if (const auto exact = divide_exactly(a, b)) return *exact;
    } else if (const auto divisor = b.constant(); divisor && *divisor > 0) {
      const Dim quotient = floor_div(a, b);
      return remainder ? a - quotient * b : quotient;
    }
    const auto x = TRY(binder_.integer(a));
    const auto y = TRY(binder_.integer(b));
    if (y <= 0) return fail("E345", fmt::format("divides by {}", y));
    if (floors) return Dim(floor_divide(x, y));
    if (remainder) return Dim(x - floor_divide(x, y) * y);
    if (x % y == 0) return Dim(x / y);
    return fail("E345", fmt::format("divides {} by {}, which leaves a rest; // rounds down", x, y));
  }

  Result<Dim> factor() {
    bool negative = false;
    while (peek() == '-') {
      negative = !negative;
      ++at_;
    }
    auto value = primary();
    return value && negative ? Result<Dim>(Dim(0) - *value) : value;
  }

  Result<Dim> primary() {
    const char c = peek();
    if (is_digit(c)) return number();
    if (is_letter(c)) return name();
    if (c != '(') return expected("a number or a name");
    return nested(')');
  }

  // What stands between an opening bracket, which is next, and `close`.
  Result<Dim> nested(char close) {
    if (++depth_ > kMostNested) return fail("E344", "nests more than 32 brackets");
    ++at_;
    auto value = sum();
    --depth_;
    if (value && !take(close)) return expected(fmt::format("'{}'", close));
    return value;
  }

  Result<Dim> number() {
    int64_t value = 0;
    const char* end = text_.data() + text_.size();
    const auto [stop, fault] = std::from_chars(text_.data() + at_, end, value);
    if (fault != std::errc()) return fail("E344", "holds a number beyond 64 bits");
    at_ = static_cast<size_t>(stop - text_.data());
    return Dim(value);
  }

  Result<Dim> name() {
    const size_t start = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    if (peek() == '(') return call(word);
    const Value* value = environment_.find(word);
    if (!value) return unknown(word);
    if (peek() == '[') return element(word, *value);
    if (const Dim* d = std::get_if<Dim>(value)) return *d;
    const bool is_list = std::holds_alternative<std::vector<Dim>>(*value);
    const bool is_real = std::holds_alternative<double>(*value);
    return fail("E344", fmt::format("uses '{}', which is {}, as a whole number", word,
                                    is_list   ? "a list"
                                    : is_real ? "a real number"
                                              : "a word"));
  }

  Result<Dim> element(std::string_view word, const Value& value) {
    auto index = nested(']');
    if (!index) return index;
    const auto* list = std::get_if<std::vector<Dim>>(&value);
    if (!list) return fail("E344", fmt::format("takes an element of '{}', which is no list", word));
    const auto at = TRY(binder_.integer(*index));
    if (at >= 0 && static_cast<size_t>(at) < list->size()) return (*list)[static_cast<size_t>(at)];
    return fail("E345", fmt::format("takes element {} of '{}', which has {} (counted from 0)", at,
                                    word, list->size()));
  }

  Result<Dim> call(std::string_view function) {
    if (function == "count") return count();
    if (function == "element") return element_or();
    if (function == "sqrt") return root();
    if (function == "contains") return contains();
    if (function != "min" && function != "max" && function != "ceil_div" && function != "equal" &&
        function != "less" && function != "power") {
      return fail("E344", fmt::format("calls '{}'; there are min, max, ceil_div, equal, less, "
                                      "power, sqrt, count, contains and element",
                                      shortened(function)));
    }
    auto a = nested(',');
    if (!a) return a;
    --at_;  // the comma opens the second argument
    auto b = nested(')');
    if (!b) return b;
    if (function == "min") return min(*a, *b);
    if (function == "max") return max(*a, *b);
    if (function == "equal" || function == "less") return compare(*a, *b, function == "less");
    if (function == "power") return power(*a, *b);
    if (const auto divisor = b->constant(); divisor && *divisor <= 0) {
      return fail("E345", fmt::format("divides by {}", *divisor));
    }
    return ceil_div(*a, *b);
  }

  // 1 where it holds, else 0.
  Result<Dim> compare(const Dim& a, const Dim& b, bool less) {
    const auto x = TRY(binder_.integer(a));
    const auto y = TRY(binder_.integer(b));
    return Dim(int64_t{less ? x < y : x == y});
  }

  Result<Dim> power(const Dim& base, const Dim& exponent) {
    constexpr int64_t kMost = 62;
    const auto times = TRY(binder_.integer(exponent));
    if (times < 0 || times > kMost) return fail("E345", fmt::format("takes the power {}", times));
    Dim product = 1;
    for (int64_t i = 0; i < times; ++i) product = product * base;
    return product;
  }

  // Of a whole number, rounded down.
  Result<Dim> root() {
    const Dim square = TRY(nested(')'));
    const auto number = TRY(binder_.integer(square));
    if (number < 0) return fail("E345", fmt::format("takes the root of {}", number));
    return Dim(static_cast<int64_t>(std::sqrt(static_cast<double>(number))));
  }

  Result<Dim> count() {
    take('(');
    peek();
    const size_t start = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    if (!take(')')) return expected("')'");
    const Value* value = environment_.find(word);
    if (!value) return unknown(word);
    const auto* list = std::get_if<std::vector<Dim>>(value);
    if (!list) return fail("E344", fmt::format("counts '{}', which is no list", word));
    return Dim(static_cast<int64_t>(list->size()));
  }

  // The list that a function's first argument names; its comma opens the second.
  Result<std::vector<Dim>> named_list() {
    take('(');
    peek();
    const size_t start = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    const Value* value = environment_.find(word);
    if (!value) return unknown(word);
    const auto* list = std::get_if<std::vector<Dim>>(value);
    if (!list) return fail("E344", fmt::format("takes an element of '{}', which is no list", word));
    if (peek() != ',') return expected("','");
    return *list;
  }

  // element(list, index, otherwise): of an index outside the list.
  Result<Dim> element_or() {
    const std::vector<Dim> list = TRY(named_list());
    auto index = nested(',');
    if (!index) return index;
    --at_;
    auto otherwise = nested(')');
    if (!otherwise) return otherwise;
    const auto at = TRY(binder_.integer(*index));
    const bool inside = at >= 0 && static_cast<size_t>(at) < list.size();
    return inside ? list[static_cast<size_t>(at)] : otherwise;
  }

  // contains(list, number): 1 where it is in the list, else 0.
  Result<Dim> contains() {
    const std::vector<Dim> list = TRY(named_list());
    const Dim wanted = TRY(nested(')'));
    const auto number = TRY(binder_.integer(wanted));
    for (const Dim& one : list) {
      if (TRY(binder_.integer(one)) == number) return Dim(1);
    }
    return Dim(0);
  }

  tl::unexpected<Diagnostics> unknown(std::string_view word) {
    const std::string near = nearest(word, environment_.names());
    return error("E343", fmt::format("unknown parameter '{}'", shortened(word)), {},
                 near.empty() ? "" : fmt::format("did you mean '{}'?", near));
  }

  std::string_view text_;
  const Environment& environment_;
  Binder& binder_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Dim> evaluate(std::string_view text, const Environment& environment, Binder& binder) {
  return Evaluator(text, environment, binder).run();
}

}  // namespace plimsoll::config
