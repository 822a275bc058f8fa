// A request's settings as JSON, by their rows: answers tell them, and an answer is asked again by
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/settings/given_settings.h"
#include "estimator/settings/setting_row.h"
#include "graph/json/value.h"

namespace plimsoll {

// Where --freeze and --train alternate the last match holds: "freeze GLOB", "train GLOB", in order.
inline constexpr std::string_view kTrainingRules = "training_rules";

// A setting's value; null where the model, the framework or the device decides.
JsonValue value_of(const SettingRow& row, const Request& request);

// Whether the verb takes no such setting (E117).
bool is_refused(const SettingRow& row, std::string_view verb);

// The rules of kTrainingRules, empty where the two lists say them: all of --freeze come first.
std::vector<std::string> training_rules(const Request& request);

// Names as JSON writes them, of what a flag, a file or the environment said; in the order of help,
// a verb's own after them.
std::vector<std::string> given_names(const Request& request);

// Of the form of answers that this program writes.
inline constexpr int64_t kAnswerVersion = 1;

// E330 where it is a later program's, or no number.
Result<void> check_answer_version(const JsonValue& document, const std::string& file);

// What an answer was asked, as it would be given again: the model and all that was given, and
// defaults that were others than today's. `document` has been read of `file`. E330 for what is no
// answer of estimate or max-batch, E304 for a setting that is none, E311 for a value of another
// kind, and what the setting's reader says of its value, each at its place.
Result<GivenSettings> settings_of_answer(const JsonValue& document, const std::string& file);

}  // namespace plimsoll
