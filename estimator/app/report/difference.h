// What differs between two estimates that were written to files: what was asked, each figure, and
// which part of the memory makes the difference.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/app/report/page.h"
#include "estimator/app/report/table.h"
#include "graph/base/diagnostic.h"
#include "graph/json/fields.h"
#include "graph/json/value.h"

namespace plimsoll {

// A setting that the two were asked with another value of; null where a default holds.
struct RequestDifference {
  std::string setting;
  JsonValue a, b;
};

struct FigureDifference {
  std::string figure;  // "result.memory.device_bytes"
  std::string title;
  int64_t a = 0, b = 0;
};

// By how much a figure may grow from one to the other: "peak>5%".
struct ChangeLimit {
  std::string text;  // as given
  std::string_view name, figure;
  double most = 0;  // a share of a
};
// Figures that may be limited, by the names that ChangeLimit has.
struct LimitedFigure {
  std::string_view name, figure;
};
std::span<const LimitedFigure> limited_figures();

struct LimitCheck {
  ChangeLimit limit;
  int64_t a = 0, b = 0;
  bool exceeded = false;
};

struct AnswerDifference {
  std::string file_a, file_b;
  std::vector<RequestDifference> request;
  std::vector<FigureDifference> figures;  // those that differ
  std::vector<LimitCheck> limits;
  std::string reason;                         // empty where the memory is the same
  std::vector<std::string> basis_a, basis_b;  // lines that one of them has alone
  bool passed() const;                        // no limit is exceeded
};

void describe(Fields& f, AnswerDifference& difference);

// `a`, `b`: documents of estimate --json. Figures that one of them lacks are left out; E306 where a
// limit is on such a figure.
Result<AnswerDifference> difference_of(const JsonValue& a, const JsonValue& b,
                                       std::span<const ChangeLimit> limits = {});

// "fp32", "sequence=64", "default".
std::string setting_text(const JsonValue& value);
// "peak grew by 7.1 %, more than the 5 % allowed".
std::string limit_text(const LimitCheck& check);

std::string to_json(const AnswerDifference& difference);
std::string to_text(const AnswerDifference& difference, const Page& page = {}, bool basis = false);
// A row for each figure that differs.
Table difference_table(const AnswerDifference& difference);

}  // namespace plimsoll
