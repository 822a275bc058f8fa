// A validation as JSON (contract) or as text: run by run, in sums, and whether the gate passed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "estimator/answer/answer_notes.h"
#include "estimator/app/report/page.h"
#include "estimator/app/report/table.h"
#include "estimator/app/validate/tolerance.h"
#include "estimator/app/validate/validate.h"
#include "graph/json/fields.h"
#include "graph/json/writer.h"

namespace plimsoll {

// "context and libraries: 480 predicted, 310 measured"
std::string gap_text(const Gap& gap);

// "353 ms", "3.0 GiB", "3500 MiB"; "-" where there is none.
std::string figure_text(const ValidationLine& line, const std::optional<double>& value);

// What was asked of a validation, and what is said of it.
struct ValidationNotes {
  std::string verb = "validate";  // or "validate --from": which settings it takes
  std::vector<std::string> files{}, tolerances{};
  bool allow_skipped = false, source_machines = false;
  AnswerNotes notes{};
};

// Written in pieces as lines come: of millions none is kept. Text shows the first thousand, JSON
// all of them. The last line of the text begins with PASSED or FAILED.
class ValidationReport {
 public:
  enum class Form : uint8_t { kText, kJson };
  // `write` takes what follows what it took before.
  // `table`: all lines in that form, and nothing else.
  ValidationReport(Form form, std::function<void(const std::string&)> write, const Page& page = {},
                   const TableForm* table = nullptr);
  void add(const ValidationLine& line, LineState state);
  void finish(const std::vector<ValidationSummary>& summaries, const Gate& gate,
              const ValidationNotes& notes);

 private:
  void write_rows();
  void finish_text(const std::vector<ValidationSummary>& summaries, const Gate& gate,
                   bool has_tolerance);
  void finish_json(const std::vector<ValidationSummary>& summaries, const Gate& gate,
                   const ValidationNotes& notes);

  Form form_;
  Page page_;
  const TableForm* table_;
  Table runs_;  // of text and tables
  std::function<void(const std::string&)> write_;
  JsonWriter json_;
  std::string text_;
  int64_t lines_ = 0;
  bool headed_ = false;
};

// The document, for its schema.
void describe_any_validation(Fields& f);

}  // namespace plimsoll
