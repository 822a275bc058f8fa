// figure_gap: why two figures of one estimate differ, as max_memory_allocated() and nvidia-smi do.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/answer/estimate.h"
#include "graph/json/fields.h"

namespace plimsoll {

// Figures that people hold against each other, each with the ones before it inside.
struct NamedFigure {
  std::string_view name, shown_by;  // "reserved", "torch.cuda.max_memory_reserved()"
  bool of_time = false;
};
std::span<const NamedFigure> named_figures();

struct FigureStep {
  std::string name;  // "context and libraries"
  std::string why;
  int64_t amount = 0;  // bytes or nanoseconds; below zero where it takes away
};

inline void describe(Fields& f, FigureStep& step) {
  f("name", step.name);
  f("why", step.why);
  f("amount", step.amount, {.any_sign = true});
}

struct FigureGap {
  std::string what;  // the two figures, as asked for
  InputFacts input;
  std::string device_id;
  const NamedFigure* inner = nullptr;
  const NamedFigure* outer = nullptr;
  int64_t inner_amount = 0, outer_amount = 0;
  AnswerNotes notes;
  std::vector<FigureStep> steps;  // from the inner to the outer: their sum is the difference
};

// E106 for a name that is none, E114 for one given twice, E112 where one is of bytes and one of
// time.
Result<FigureGap> figure_gap(const Estimate& estimate, std::string_view one,
                             std::string_view other);

}  // namespace plimsoll
