// Measured runs as a file that can be given away: what ran, on which card, with which versions, and
// what was measured. Names of people, machines, folders and projects are not in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"
#include "hwdb/measured/run.h"

namespace plimsoll {

// A file of measured runs, as read_measured() reads it. E533 for a run of a model that is not
// public (a built-in one or a Hugging Face config that ships), on no card, or without a
// measurement.
Result<std::string> to_shared(const std::vector<MeasuredRun>& runs, std::string_view version);

}  // namespace plimsoll
