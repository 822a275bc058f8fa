// Patterns: what exporters write for what a framework ran, one row each.
//
//   {.name = "SiLU",
//    .match = "y = Mul(x, Sigmoid(x)!)",
//    .result = "y = plimsoll:Silu(x)",
//    .example = "input x: f32[B,8]; s = Sigmoid(x); y = Mul(x, s)",
//    .near_miss = "input z: f32[B,8]; y = Mul(z, s)"}
//
// `match` is in the notation of graphs (graph/ir/text.h): a node a line, the last one is replaced.
// Beyond it:
//
//   Log(Add(Exp(a), b))  an operand may be written where it is read
//   a                    any tensor; the same name is the same tensor
//   _                    whatever there is
//   0.5                  this number, to three digits
//   #  #e                a number of the host, known or not
//   $w                   of the file: a parameter, or known contents
//   axes?                may be absent
//   a!  Sigmoid(x)!      nobody else reads it
//   Pow|Mul(d, _)        either operator
//   Mul*(a, b, 0.5)      the factors of products of products, in any order
//   Cast?(x)             this operator or none
//   A(x) | B(1, x)       either of two ways to make it
//   a, b = Split(x)      all its outputs, and no more
//   {perm=[0,2,1]}       must be so; {?} are taken over by the result's {?}
//
// Operands of operators that commute (OpRow::kCommutes) match in either order.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/rewrite/expression.h"
#include "graph/rewrite/finder.h"

namespace plimsoll::patterns {

struct Pattern {
  std::string_view name;                  // as reports say it: "GELU (tanh)"
  std::optional<Exporter> exporter = {};  // of any
  int64_t last_opset = 1'000'000;         // in which it is written so
  std::string_view match;
  std::string_view result = "";  // one operator of what was matched; "": `build` makes it
  // What the text cannot say. Another order of the operands is tried where it is false.
  bool (*when)(const Match&) = nullptr;
  // Attributes of the result that are computed.
  void (*set)(const Match&, Attributes&) = nullptr;
  // Instead of a result: the node that it became, or kNoNode where it stays.
  NodeId (*build)(Finder&, const Match&) = nullptr;
  // A graph, and the lines of its nodes once it is recovered; "": of `result`, as they stand.
  std::string_view example, after = "";
  // Lines that replace those of the example that define the same names, or come before them: this
  // graph stays as it is.
  std::string_view near_miss;
};

// Rows, compiled. They are tried at every node in its order, those of its operator in theirs, until
// one applies. A row whose text is not in the notation matches nothing; a test compiles them all.
// Cost: linear in the graph; of a match, its row's length times two for each operator that
// commutes.
class PatternSet {
 public:
  explicit PatternSet(std::span<const Pattern> rows);
  void apply(Finder& finder) const;
  const Diagnostics& errors() const { return errors_; }

 private:
  struct Compiled {
    const Pattern* row;
    Expression match, result;
  };
  bool apply_at(Finder& finder, NodeId at, const Compiled& compiled) const;

  std::vector<Compiled> rows_;
  std::unordered_map<std::string_view, std::vector<size_t>> by_root_;
  Diagnostics errors_;
};

// A piece that procedural passes ask for: a match without a result.
//
//   constinit const Fragment kFlip("t = Transpose(x) {perm=[0,2,1]}");
//   if (const auto flip = kFlip.of(r, t)) t = (*flip)["x"];
class Fragment {
 public:
  explicit constexpr Fragment(std::string_view text) : text_(text) {}
  // What makes `tensor`, or the node itself, if it is so.
  std::optional<Match> of(const Rewrite& r, TensorId tensor) const;
  std::optional<Match> at(const Rewrite& r, NodeId node) const;
  // The tensor of that name in what makes `tensor`; kNoTensor where it is not so.
  TensorId in(const Rewrite& r, TensorId tensor, std::string_view name) const;
  // What is behind as many of these as there are, each reading the next one's x.
  TensorId behind(const Rewrite& r, TensorId tensor) const;

 private:
  const Expression& expression() const;

  std::string_view text_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<Expression> expression_;
};

}  // namespace plimsoll::patterns
