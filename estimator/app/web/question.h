// A question of the web page, and what is said where it has no answer.
#pragma once

#include <string>
#include <string_view>

#include "estimator/request/request.h"
#include "graph/base/diagnostic.h"
#include "graph/json/value.h"

namespace plimsoll {

struct WebQuestion {
  JsonValue document;
  Request request;
};

// E108 and E109 for one without a model or a GPU, E114 for one with several; else as
// settings_of_answer().
Result<WebQuestion> read_question(std::string_view text);

// A document "plimsoll.refusal".
std::string refusal(const Diagnostics& faults);

}  // namespace plimsoll
