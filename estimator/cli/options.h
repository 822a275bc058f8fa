// The flags that estimate, max-batch, compare and sweep share, as text, and their strict reading.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "estimator/request.h"

namespace plimsoll::cli {

// Every option is bound to text: CLI11's own conversions accept what we must refuse ("010", "-1" as
// a huge count, "24GB" as GiB).
struct SharedFlags {
  std::string model;
  std::vector<std::string> gpus, dims, settings, shapes, trips, assume, limits;
  std::map<std::string, std::string> values;  // of single-valued flags, by name without dashes
  bool weight_decay = false, no_recover = false, strict = false;
};

// Declares the flags. `flags` must outlive the parse.
void add_shared(CLI::App& app, SharedFlags& flags, bool with_model = true);
// A single-valued flag beside the shared ones, read as text.
void add_value(CLI::App& app, SharedFlags& flags, const std::string& name, const std::string& help);

// E1xx for whatever is not as it should be; all faults of one kind at once is not tried: the first.
Result<Request> to_request(const SharedFlags& flags);

}  // namespace plimsoll::cli
