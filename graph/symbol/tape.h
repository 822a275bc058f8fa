// Tape: many Dims as one flat program, for the points of a search or a sweep. What they share (what
// an image's size makes of each layer) is computed once a point, and no tree is walked.
//
//   Tape tape;
//   const Tape::Slot bytes = tape.add(batch * half * half * 4);
//   if (tape.run(points)) use(tape[bytes]);  // its value at each
//
// Cost: building, about that of two evaluations of each Dim; a run at one point, a few nanoseconds
// a Dim; at many, one or two for each of them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "graph/symbol/dim.h"

namespace plimsoll {

class Tape {
 public:
  using Slot = uint32_t;

  // The place of its value. The Dim is not needed afterwards.
  Slot add(const Dim& d);
  // False exactly where Dim::evaluate() of one of them fails at one of the points, which can say
  // which and why.
  bool run(std::span<const Binding> points);
  // After a run that succeeded: the value at each point.
  std::span<const int64_t> operator[](Slot slot) const {
    return {values_.data() + slot * points_, points_};
  }

 private:
  enum class Kind : uint8_t { kSymbol, kSum, kFloorDiv, kCeilDiv, kMax, kMin, kFailure };
  struct Instruction {
    Kind kind = Kind::kSum;
    int64_t constant = 0;          // of a sum
    uint32_t left = 0, right = 0;  // operands; of a sum: its terms from left to right
  };
  struct Term {
    int64_t coefficient = 0;
    uint32_t begin = 0, end = 0;  // its factors
  };
  Slot push(const Instruction& instruction);
  Slot atom(const Dim::AtomPtr& atom);
  Slot operand(const Dim& d);
  bool sum(const Instruction& instruction, std::span<int64_t> value);

  std::vector<Instruction> instructions_;  // each after its operands
  std::vector<Term> terms_;
  std::vector<Slot> factors_;
  size_t points_ = 0;
  std::vector<int64_t> values_;   // of each instruction, at each point
  std::vector<int64_t> product_;  // at each point
  std::map<std::string, Slot, std::less<>> symbols_;
  // What was met before, by address and, where two are the same, by what they do. `met_` keeps
  // atoms alive: an address stands for one of them.
  std::unordered_map<const Dim::Atom*, Slot> slots_;
  std::vector<Dim::AtomPtr> met_;
  std::map<std::tuple<Kind, Slot, Slot>, Slot> divisions_;
  std::map<Dim, Slot, StructureOrder> operands_;
};

}  // namespace plimsoll
