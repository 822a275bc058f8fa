#include "estimator/app/sweep/constraint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "graph/base/escape.h"

namespace plimsoll {

// Recursive descent; each level leaves the number of its node.
class ConstraintReader {
 public:
  using Kind = Constraint::Kind;
  using Op = Constraint::Op;
  using Read = tl::expected<size_t, std::string>;

  ConstraintReader(std::string_view text, const std::vector<Constraint::Parameter>& parameters)
      : text_(text), parameters_(parameters) {}

  tl::expected<Constraint, std::string> read() {
    const auto whole = any_of();
    if (!whole) return tl::unexpected<std::string>(whole.error());
    skip_blanks();
    if (!text_.empty()) return fault("is not understood");
    if (kind(*whole) != Kind::kTruth)
      return tl::unexpected<std::string>("not a condition: compare with <, <=, == or !=");
    return std::move(constraint_);
  }

 private:
  using Level = Read (ConstraintReader::*)();
  struct Operator {
    std::string_view word;
    Op op;
  };

  Kind kind(size_t node) const { return constraint_.nodes_[node].kind; }

  size_t add(Op op, Kind kind, size_t left = 0, size_t right = 0) {
    constraint_.nodes_.push_back({op, kind, left, right, 0, {}});
    return constraint_.nodes_.size() - 1;
  }

  tl::unexpected<std::string> fault(std::string_view why) const {
    return tl::unexpected<std::string>(text_.empty()
                                           ? fmt::format("its end {}", why)
                                           : fmt::format("'{}' {}", shortened(text_, 30), why));
  }

  void skip_blanks() {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \t\n"), text_.size()));
  }

  static bool is_of_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  }

  // Whether `word` comes next, which is then taken.
  bool take(std::string_view word) {
    skip_blanks();
    if (!text_.starts_with(word)) return false;
    const bool ends = text_.size() == word.size() || !is_of_name(text_[word.size()]);
    if (is_of_name(word.back()) && !ends) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  // Operators of one strength, the left one first.
  template <size_t N>
  Read chain(const Operator (&operators)[N], Kind of, Level inner) {
    auto left = (this->*inner)();
    for (;;) {
      if (!left) return left;
      const auto* at = std::find_if(std::begin(operators), std::end(operators),
                                    [&](const Operator& o) { return take(o.word); });
      if (at == std::end(operators)) return left;
      auto right = (this->*inner)();
      if (!right) return right;
      if (kind(*left) != of || kind(*right) != of) {
        return tl::unexpected<std::string>(
            fmt::format("{} takes {}", at->word, of == Kind::kTruth ? "conditions" : "numbers"));
      }
      left = add(at->op, of, *left, *right);
    }
  }

  Read any_of() {
    static constexpr Operator kOr[] = {{"or", Op::kOr}};
    return chain(kOr, Kind::kTruth, &ConstraintReader::all_of);
  }
  Read all_of() {
    static constexpr Operator kAnd[] = {{"and", Op::kAnd}};
    return chain(kAnd, Kind::kTruth, &ConstraintReader::negation);
  }
  Read negation() {
    if (!take("not")) return comparison();
    const Deeper deeper(depth_);
    if (depth_ > kDeepest) return fault("is nested too deep");
    auto inner = negation();
    if (!inner) return inner;
    if (kind(*inner) != Kind::kTruth) return fault("follows a 'not' that has no condition");
    return add(Op::kNot, Kind::kTruth, *inner);
  }

  Read comparison() {
    auto left = sum();
    if (!left) return left;
    const bool at_most = take("<="), at_least = !at_most && take(">=");
    const bool less = !at_most && !at_least && take("<"),
               more = !less && !at_most && !at_least && take(">");
    const bool ordered = at_most || at_least || less || more;
    const bool equal = !ordered && take("=="), unequal = !ordered && !equal && take("!=");
    if (!ordered && !equal && !unequal) return left;
    auto right = sum();
    if (!right) return right;
    if (kind(*left) != kind(*right))
      return tl::unexpected<std::string>("a number is compared with text");
    if (ordered && kind(*left) != Kind::kNumber)
      return tl::unexpected<std::string>("text has no order: use == or !=");
    const size_t low = at_least || more ? *right : *left, high = at_least || more ? *left : *right;
    if (ordered) return add(less || more ? Op::kLess : Op::kLessEqual, Kind::kTruth, low, high);
    const size_t same = add(Op::kEqual, Kind::kTruth, *left, *right);
    return unequal ? add(Op::kNot, Kind::kTruth, same) : same;
  }

  Read sum() {
    static constexpr Operator kSums[] = {{"+", Op::kAdd}, {"-", Op::kSubtract}};
    return chain(kSums, Kind::kNumber, &ConstraintReader::product);
  }
  Read product() {
    static constexpr Operator kProducts[] = {
        {"*", Op::kMultiply}, {"/", Op::kDivide}, {"%", Op::kRemainder}};
    return chain(kProducts, Kind::kNumber, &ConstraintReader::primary);
  }

  Read primary() {
    const Deeper deeper(depth_);
    if (depth_ > kDeepest) return fault("is nested too deep");
    skip_blanks();
    if (take("(")) {
      auto inner = any_of();
      if (inner && !take(")")) return fault("found where ) is expected");
      return inner;
    }
    if (take("-")) {
      auto inner = primary();
      if (!inner) return inner;
      if (kind(*inner) != Kind::kNumber) return tl::unexpected<std::string>("- takes numbers");
      return add(Op::kSubtract, Kind::kNumber,
                 literal(Kind::kNumber, {0, 0, JsonNumber{"0", 0, true}}), *inner);
    }
    if (text_.empty()) return fault("comes too early");
    if (text_.front() == '\'' || text_.front() == '"') return quoted();
    for (const bool word : {true, false}) {
      if (take(word ? "true" : "false")) return literal(Kind::kTruth, {0, 0, word});
    }
    return std::isdigit(static_cast<unsigned char>(text_.front())) != 0 ? numeral() : named();
  }

  size_t literal(Kind kind, JsonValue value) {
    const size_t node = add(Op::kValue, kind);
    constraint_.nodes_[node].literal = std::move(value);
    return node;
  }

  Read quoted() {
    const size_t end = text_.find(text_.front(), 1);
    if (end == text_.npos) return fault("is not closed");
    const std::string word(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return literal(Kind::kText, {0, 0, word});
  }

  Read numeral() {
    double number = 0;
    const auto read = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    const auto length = static_cast<size_t>(read.ptr - text_.data());
    if (read.ec != std::errc() || (length < text_.size() && is_of_name(text_[length])))
      return fault("is no number");
    const std::string digits(text_.substr(0, length));
    text_.remove_prefix(length);
    return literal(Kind::kNumber, {0, 0, JsonNumber{digits, number, false}});
  }

  Read named() {
    const auto length = static_cast<size_t>(
        std::find_if_not(text_.begin(), text_.end(), is_of_name) - text_.begin());
    if (length == 0) return fault("is not understood");
    const std::string_view word = text_.substr(0, length);
    const auto at = std::ranges::find(parameters_, word, &Constraint::Parameter::name);
    if (at == parameters_.end()) {
      std::vector<std::string> known;
      for (const Constraint::Parameter& parameter : parameters_) known.push_back(parameter.name);
      const std::string near = nearest(word, known);
      return tl::unexpected<std::string>(
          fmt::format("{} is not a parameter with values{}", shortened(word, 60),
                      near.empty() ? "; put text into quotes"
                                   : fmt::format("; did you mean {}?", shortened(near, 60))));
    }
    if (at->mixed) {
      return tl::unexpected<std::string>(
          fmt::format("{} has numbers and words", shortened(word, 60)));
    }
    text_.remove_prefix(length);
    const size_t node = add(Op::kParameter, at->kind);
    constraint_.nodes_[node].parameter = static_cast<size_t>(at - parameters_.begin());
    return node;
  }

  static constexpr int kDeepest = 100;  // calls, so that no text exhausts the stack
  struct Deeper {
    explicit Deeper(int& calls) : depth(calls) { ++depth; }
    ~Deeper() { --depth; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    int& depth;
  };

  std::string_view text_;  // what is left
  const std::vector<Constraint::Parameter>& parameters_;
  Constraint constraint_;
  int depth_ = 0;
};

tl::expected<Constraint, std::string> Constraint::read(std::string_view text,
                                                       const std::vector<Parameter>& parameters) {
  return ConstraintReader(text, parameters).read();
}

bool Constraint::holds(const Values& values) const { return truth(nodes_.size() - 1, values); }

const JsonValue& Constraint::value(const Node& node, const Values& values) const {
  return node.op == Op::kParameter ? values(node.parameter) : node.literal;
}

double Constraint::number(size_t at, const Values& values) const {
  const Node& node = nodes_[at];
  if (node.op == Op::kValue || node.op == Op::kParameter)
    return value(node, values).real().value_or(0);
  const double left = number(node.left, values), right = number(node.right, values);
  switch (node.op) {
    case Op::kAdd:
      return left + right;
    case Op::kSubtract:
      return left - right;
    case Op::kMultiply:
      return left * right;
    case Op::kDivide:
      return left / right;
    default:
      return std::fmod(left, right);
  }
}

bool Constraint::truth(size_t at, const Values& values) const {
  const Node& node = nodes_[at];
  switch (node.op) {
    case Op::kOr:
      return truth(node.left, values) || truth(node.right, values);
    case Op::kAnd:
      return truth(node.left, values) && truth(node.right, values);
    case Op::kNot:
      return !truth(node.left, values);
    case Op::kLess:
      return number(node.left, values) < number(node.right, values);
    case Op::kLessEqual:
      return number(node.left, values) <= number(node.right, values);
    case Op::kEqual:
      return equal(node, values);
    default:
      return value(node, values).boolean().value_or(false);
  }
}

bool Constraint::equal(const Node& node, const Values& values) const {
  const Node &left = nodes_[node.left], &right = nodes_[node.right];
  switch (left.kind) {
    case Kind::kNumber:
      return number(node.left, values) == number(node.right, values);
    case Kind::kText:
      return *value(left, values).string() == *value(right, values).string();
    case Kind::kTruth:
      return truth(node.left, values) == truth(node.right, values);
  }
  return false;
}

}  // namespace plimsoll
