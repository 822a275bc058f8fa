// What an answer takes for granted because nobody said it, and which setting changes it.
#pragma once

#include <string>
#include <vector>

#include "estimator/answer/answer_notes.h"
#include "estimator/model/loaded_model.h"
#include "estimator/settings/setting_row.h"

namespace plimsoll {

// Of settings that act on the model and were not given, the most important first: those by which
// answers differ most.
std::vector<Assumption> assumptions_of(const SettingScope& scope, const InputFacts& input);

}  // namespace plimsoll
