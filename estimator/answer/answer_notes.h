// What an answer was asked for, what it rests on, and what there is to be said of it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "estimator/request/request.h"
#include "graph/base/diagnostic.h"
#include "graph/json/fields.h"
#include "graph/json/value.h"

namespace plimsoll {

// What was taken for granted because nobody said it.
struct Assumption {
  std::string setting;  // by its name, or "dim"
  std::string text;     // "fp32 precision"
  std::string
      change;  // the setting with which it is asked otherwise, as graph/base/setting.h has it
};

inline void describe(Fields& f, Assumption& a) {
  f("setting", a.setting);
  f("text", a.text);
  f("change", a.change, {.meaning = "what asks for something else", .settings = true});
}

struct AnswerNotes {
  Request request;
  // Settings that the verb goes through, by name, with what it goes through: gpus "1..8", or the
  // values of a plan's parameter. They stand in place of the request's.
  std::vector<std::pair<std::string, JsonValue>> ranges = {};
  std::vector<Assumption> assumed = {};  // the most important first
  std::vector<std::string> basis = {};   // defaults taken and where figures come from
  Diagnostics diagnostics = {};
};

}  // namespace plimsoll
