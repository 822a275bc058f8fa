// Constraint: a condition on the parameters of a configuration, as plans write it:
//
//   batch * accumulate <= 512 and (gpu != 't4' or precision == 'amp-fp16')
//
// or, and, not; < <= > >= == !=; + - * / %; numbers, 'text', true, false, names of parameters.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/json/value.h"

namespace plimsoll {

class Constraint {
 public:
  enum class Kind : uint8_t { kNumber, kText, kTruth };
  // What a name stands for. `mixed`: its values are of several kinds.
  struct Parameter {
    std::string name;
    Kind kind = Kind::kNumber;
    bool mixed = false;
  };

  // The error says in words what is wrong: an unknown name, text that is added, a number where a
  // condition is wanted.
  static tl::expected<Constraint, std::string> read(std::string_view text,
                                                    const std::vector<Parameter>& parameters);

  // `value`: of a parameter, by its place among those that were given to read().
  bool holds(const std::function<const JsonValue&(size_t parameter)>& value) const;

 private:
  friend class ConstraintReader;
  enum class Op : uint8_t {
    kValue,      // `literal`
    kParameter,  // `parameter`
    kOr,
    kAnd,
    kNot,
    kLess,
    kLessEqual,
    kEqual,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kRemainder
  };
  struct Node {
    Op op = Op::kValue;
    Kind kind = Kind::kNumber;
    size_t left = 0, right = 0;  // nodes, each before this one
    size_t parameter = 0;
    JsonValue literal{};
  };
  using Values = std::function<const JsonValue&(size_t parameter)>;
  const JsonValue& value(const Node& node, const Values& values) const;
  double number(size_t node, const Values& values) const;
  bool truth(size_t node, const Values& values) const;
  bool equal(const Node& node, const Values& values) const;

  std::vector<Node> nodes_;  // the last one is the condition
};

}  // namespace plimsoll
