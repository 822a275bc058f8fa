// What each diagnostic code means and what to do about it: data, in explanations.json.
//
//   auto e = find_explanation("E241");   // e->title: "A kernel that does not fit"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/json/fields.h"

namespace plimsoll {

struct Explanation {
  std::string code, title, meaning, remedy;
};

inline void describe(Fields& f, Explanation& e) {
  f("code", e.code);
  f("title", e.title);
  f("meaning", e.meaning);
  f("remedy", e.remedy);
}

// All of them, in the file's order. Diagnostics of the JSON reader where the data are malformed,
// which a test rules out.
Result<std::vector<Explanation>> explanations();

// "e241" is taken for "E241". E153 for a code that the program never gives.
Result<Explanation> find_explanation(std::string_view code);

// Whether the text has the form of a code: E, N or W and three digits.
bool looks_like_code(std::string_view text);

}  // namespace plimsoll
