// The flags that estimate, max-batch, compare and sweep share, as text, and their strict reading.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "estimator/request/request.h"
#include "hwdb/hwdb.h"

namespace plimsoll::cli {

// Every option is bound to text: CLI11's own conversions accept what we must refuse ("010", "-1" as
// a huge count, "24GB" as GiB).
struct SharedFlags {
  std::string model;
  std::vector<std::string> gpus, dims, longest, lengths, settings, shapes, trips, branches,
      contents, assume, limits;
  // Of single-valued flags, by name without dashes; each as often as it was given.
  std::map<std::string, std::vector<std::string>> values;
  std::vector<TrainingRule> training;  // --freeze and --train, in the order given
  bool weight_decay = false, no_recover = false, strict = false;
};

// Declares the flags. `flags` must outlive the parse.
void add_shared(CLI::App& app, SharedFlags& flags, bool with_model = true);
// A single-valued flag beside the shared ones, read as text.
void add_value(CLI::App& app, SharedFlags& flags, const std::string& name, const std::string& help);

// Whether --NAME is a shared flag of one value.
bool is_shared_value(std::string_view name);

enum class Gpus { kOne, kSeveral };
// The value of a single-valued flag, or null where it was not given.
const std::string* value_of(const SharedFlags& flags, std::string_view name);

// The database a verb works with, once it knows its model and GPU. `local`, or the machine's own
// card where no GPU is named, is asked of the driver (local_gpu.h) and named in the request.
// E108 where no model is named, E109 where no GPU is, with what is wrong with the model before it,
// E114 for more than asked for; the help shows `verb` used; else as Hwdb::open() and
// find_local_gpu().
Result<Hwdb> open_database(Request& request, std::string_view verb, Gpus gpus = Gpus::kOne);
// Diagnostics about a model's contents, with the model as their place where they have none.
Diagnostics in_model(Diagnostics diagnostics, const std::string& model);

// Warnings as errors where `strict`.
Diagnostics as_strict(Diagnostics diagnostics, bool strict);

// E1xx for the first flag that is not as it should be.
Result<Request> to_request(const SharedFlags& flags);

}  // namespace plimsoll::cli
