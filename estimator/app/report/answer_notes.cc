#include "estimator/app/report/answer_notes.h"

#include <algorithm>

#include "estimator/app/report/diagnostic_json.h"
#include "estimator/app/report/spelling.h"
#include "estimator/settings/request_values.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

// A range that the verb goes through stands in place of the one value.
JsonValue told(const SettingRow& row, const AnswerNotes& notes) {
  const auto range =
      std::ranges::find(notes.ranges, row.name, &std::pair<std::string, JsonValue>::first);
  return range == notes.ranges.end() ? value_of(row, notes.request) : range->second;
}

void describe_settings(Fields& f, AnswerNotes& notes, const AskedBy& by) {
  f("model", notes.request.model, {.null_where = notes.request.model.empty()});
  for (const SettingRow& row : settings()) {
    const bool refused = is_refused(row, by.verb);
    JsonValue value = told(row, notes);
    f(underscored(row.name), value,
      {.meaning = row.help, .absent_where = refused ? std::optional(true) : std::nullopt});
  }
  std::vector<std::string> rules = training_rules(notes.request);
  f(kTrainingRules, rules,
    {.meaning = "freeze and train in their order, if it matters: the last match wins",
     .absent_where = rules.empty()});
  if (by.verb_settings) by.verb_settings();
}

}  // namespace

void describe_notes(Fields& f, AnswerNotes& notes, const AskedBy& by) {
  f.object("request", [&] { describe_settings(f, notes, by); },
           {.meaning = "every setting by its option's name with underscores, and its value; null "
                       "where the model, the framework or the device decides"});
  f("request_given", given_names(notes.request),
    "the settings that an option, plimsoll.yaml or the environment gave");
  f("assumed", notes.assumed,
    "what was assumed because the request does not say it, the most important first");
  f("basis", notes.basis, {.settings = true});
  f("diagnostics", notes.diagnostics);
}

std::string assumed_text(const AnswerNotes& notes, const Page& page) {
  constexpr size_t kMost = 3;
  std::string text;
  for (size_t i = 0; i < notes.assumed.size() && i < kMost; ++i) {
    const Assumption& a = notes.assumed[i];
    text += wrapped(escaped_format("assumed: {}. {} changes it.", shortened(a.text, kQuotedColumns),
                                   spelled(a.change)),
                    page, 9);
  }
  return text;
}

std::string assumed_paragraph(const AnswerNotes& notes, const Page& page) {
  const std::string text = assumed_text(notes, page);
  return text.empty() ? text : "\n" + text;
}

std::string basis_text(const AnswerNotes& notes, const Page& page) {
  std::string text;
  for (const std::string& line : notes.basis)
    text += wrapped(escaped_format("basis: {}", shortened(spelled(line), 400)), page, 7);
  return text;
}

}  // namespace plimsoll
