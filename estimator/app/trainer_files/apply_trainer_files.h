// Files of training programs among what is given: TrainingArguments, a recipe of torchtune, a
// config of axolotl, of DeepSpeed, ... Each is replaced by the settings that it holds; a setting
// that is given stands.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/settings/given_settings.h"

namespace plimsoll {

struct AppliedTrainerFiles {
  std::string used;                          // "batch 2, accumulate 4 of train.yaml"; empty: none
  std::set<std::string, std::less<>> names;  // of the settings
  std::vector<std::string> read;             // paths, those of DeepSpeed's configs too
  Diagnostics diagnostics;                   // W534, and N535 with what nothing reads
};

// Whether a text that the setting `trainer` is given names a file, with programs or alone.
bool names_trainer_file(std::string_view text);

// Those that the setting `trainer` names, by commas, with or without a program's name; and the
// model, where its file is one that names a model itself. Settings that are `left_out` are given
// otherwise. E114 where two files say two values, and where two programs are named;
// read_trainer_file() has the other errors.
Result<AppliedTrainerFiles> apply_trainer_files(
    GivenSettings& given, const std::set<std::string, std::less<>>& left_out = {});

}  // namespace plimsoll
