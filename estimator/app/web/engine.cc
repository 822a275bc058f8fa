// What a page calls of the WebAssembly engine: a text goes in at plimsoll_room(), an answer stands
// at plimsoll_text(), as many bytes as its function returned, until the next call.
#include <cstddef>
#include <string>

#include "estimator/app/web/session.h"

namespace {

// Of the one thread that a program here has.
std::string question, answer;
plimsoll::WebSession session;

size_t keep(std::string text) {
  answer = std::move(text);
  return answer.size();
}

}  // namespace

extern "C" {

[[clang::export_name("plimsoll_room")]] char* plimsoll_room(size_t size) {
  question.resize(size);
  return question.data();
}

[[clang::export_name("plimsoll_text")]] const char* plimsoll_text() { return answer.data(); }

[[clang::export_name("plimsoll_answer")]] size_t plimsoll_answer() {
  return keep(session.answer(question, plimsoll::WebDepth::kAtOnce));
}

[[clang::export_name("plimsoll_answer_with_remedies")]] size_t plimsoll_answer_with_remedies() {
  return keep(session.answer(question, plimsoll::WebDepth::kWithRemedies));
}

[[clang::export_name("plimsoll_row")]] size_t plimsoll_row() { return keep(session.row(question)); }

[[clang::export_name("plimsoll_forget")]] void plimsoll_forget() { session.forget(); }

[[clang::export_name("plimsoll_choices")]] size_t plimsoll_choices() {
  return keep(plimsoll::web_choices());
}
}
