// The database that a verb works with, and the model's diagnostics as it reports them.
#pragma once

#include <string>
#include <string_view>

#include "estimator/request/request.h"
#include "hwdb/hwdb.h"

namespace plimsoll::cli {

enum class Gpus { kOne, kSeveral };

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

}  // namespace plimsoll::cli
