// Files that say how a training program trains, read by their programs' tables.
#pragma once

#include <string>

#include "estimator/app/trainer_files/key_reader.h"
#include "estimator/app/trainer_files/trainer_program.h"
#include "graph/base/diagnostic.h"
#include "graph/base/limits.h"
#include "graph/json/value.h"

namespace plimsoll {

// The program whose file a document is; null where it is nobody's.
const TrainerProgram* program_of(const JsonValue& root);

// Of a file small enough for one, JSON or YAML by its name; null where it is none or nobody's.
const TrainerProgram* program_of_file(const std::string& path, const Limits& limits);

// Settings that are given otherwise are not looked at. E358 for a file of no program, E357 for a
// value that is not modelled, E114 for two keys that exclude each other, what a setting's reader
// finds wrong, at its place; E6xx where it, or the config of DeepSpeed that it names, cannot
// be opened, E3xx where it is no JSON or YAML. Warnings are W534.
Result<TrainerFile> read_trainer_file(const std::string& path, const IsGiven& given,
                                      const Limits& limits = {});

}  // namespace plimsoll
