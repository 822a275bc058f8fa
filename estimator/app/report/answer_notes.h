// What every document ends with: what was asked, what the answer rests on and what is said of it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "estimator/answer/answer_notes.h"
#include "estimator/app/report/document.h"
#include "estimator/app/report/page.h"

namespace plimsoll {

struct AskedBy {
  std::string_view verb = {};                // settings that it refuses are left out
  std::function<void()> verb_settings = {};  // describes the verb's own settings
};

// request, request_given, basis and diagnostics.
void describe_notes(Fields& f, AnswerNotes& notes, const AskedBy& by = {});

// "assumed: fp32 precision. --precision amp-bf16 changes it.": the first three, a line each.
std::string assumed_text(const AnswerNotes& notes, const Page& page);
// The same behind an empty line; nothing where nothing is assumed.
std::string assumed_paragraph(const AnswerNotes& notes, const Page& page);
// "basis: ...": defaults taken and where figures come from.
std::string basis_text(const AnswerNotes& notes, const Page& page);

// A verb's own settings, beside those of all verbs; an overload beside its result says them.
template <class T>
void describe_verb_settings(Fields&, T&) {}

// A document of a result that has notes.
template <class T>
void describe_answer(Fields& f, std::string_view form, T& result) {
  f.object([&] {
    describe_head(f, form);
    f("result", result);
    describe_notes(f, result.notes, {.verb_settings = [&] { describe_verb_settings(f, result); }});
  });
}
template <class T>
std::string answer_text(std::string_view form, const T& result,
                        JsonWriter::Layout layout = JsonWriter::Layout::kIndented) {
  return described_text([&](Fields& f) { describe_answer(f, form, unchanged(result)); }, layout);
}
template <class T>
Describe any_answer(std::string_view form) {
  return [form](Fields& f) {
    T any{};
    describe_answer(f, form, any);
  };
}

}  // namespace plimsoll
