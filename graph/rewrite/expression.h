// The text of a pattern (graph/rewrite/pattern.h has the notation), compiled, and what it matched.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/rewrite/editor.h"

namespace plimsoll::patterns {

// What the names of a text stand for in a graph. Valid as long as the expression and the Rewrite.
class Match {
 public:
  Match(const Rewrite& rewrite, const std::vector<std::string>& names, NodeId root)
      : r(rewrite), at(root), names_(&names), tensors_(names.size(), kNoTensor) {}

  const Rewrite& r;
  NodeId at;              // the last line's node
  Attributes attributes;  // of the one with {?}

  // kNoTensor where it is optional and absent, or where the text has no such name.
  TensorId operator[](std::string_view name) const;
  // The node that makes it. It must have one.
  const Node& node(std::string_view name) const { return r.node(r.producer((*this)[name])); }
  const Node& root() const { return r.node(at); }

 private:
  friend class Expression;
  friend class Search;
  const std::vector<std::string>* names_;
  std::vector<TensorId> tensors_;
};

class Expression {
 public:
  Expression() = default;  // matches nothing
  // E290 with line and column for text that is not in the notation.
  static Result<Expression> parse(std::string_view text);

  // The operators that the last line may be of.
  std::vector<std::string_view> roots() const;
  // The last line's node is `at`. `accept` has the last word: where it is false, another order of
  // operands is tried.
  std::optional<Match> match(const Rewrite& rewrite, NodeId at,
                             bool (*accept)(const Match&) = nullptr) const;
  // The last line as a node to be: operator, domain, attributes, and inputs by what `match` knows.
  Node node(const Match& match) const;
  bool knows(const Expression& other) const;  // all names that the other reads

 private:
  friend class Search;
  friend class ExpressionReader;

  struct Term {
    enum class Kind : uint8_t { kAnything, kHostNumber, kNumber, kTensor, kMade };
    Kind kind = Kind::kAnything;
    double number = 0;
    int name = -1;  // among names_
    bool sole = false, of_file = false, optional = false;
    std::vector<size_t> calls;  // among calls_: ways to make it
  };
  struct Operator {
    std::string name;
    bool commutes = false;
  };
  struct Call {
    enum class Form : uint8_t { kPlain, kFactors, kOrNone };
    Form form = Form::kPlain;
    std::vector<Operator> operators;
    std::vector<Term> operands;
    size_t required = 0;  // operands that must be there
    Attributes attributes;
    bool takes_attributes = false;
    std::vector<int> outputs;  // names, where there are several
  };

  std::vector<std::string> names_;
  std::vector<Call> calls_;
  Term root_;
};

}  // namespace plimsoll::patterns
