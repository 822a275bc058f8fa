// TrainerFile: what a document sets by the rows of its program's table.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/app/trainer_files/trainer_program.h"
#include "estimator/app/trainer_files/trainer_settings.h"
#include "graph/base/diagnostic.h"
#include "graph/json/value.h"

namespace plimsoll {

struct TrainerFile {
  const TrainerProgram* program = nullptr;
  TrainerSettings settings;
  std::vector<std::string> unused;  // keys that nothing reads and that ask for something
  std::string deepspeed;            // path of the config that it names; empty where it names none
  Diagnostics warnings;
};

// Whether somebody has given the setting otherwise: "batch", "dim.sequence".
using IsGiven = std::function<bool(std::string_view name)>;

// False of null, false, 0, "", "none" and what is empty.
bool asks_for_something(const JsonValue& value);

// All keys of the document but for DeepSpeed's config in it. Settings that are given otherwise are
// not looked at. E357 for a value that is not modelled, E311 for one of another kind, E114 for two
// keys that exclude each other, and what a setting's reader finds wrong, at its place.
Result<void> read_keys(const JsonValue& root, const std::string& path, const IsGiven& given,
                       TrainerFile& into);

// What DeepSpeed's config sets, into what the file that names it sets: E114 where they say two
// values. DeepSpeed keeps weights of 16 bits and copies of trained ones in 32
// (deepspeed/runtime/bf16_optimizer.py) where the program asks for mixed precision.
Result<void> take_deepspeed(const TrainerFile& inner, const std::string& path, TrainerFile& into);

}  // namespace plimsoll
