// The JSON Schema of files of measured runs, made of the keys that their reader knows.
#pragma once

#include <string>

namespace plimsoll {

// Of a file with "records", and of one line of JSON lines; CSV has the same keys as columns.
std::string measured_run_schema();

}  // namespace plimsoll
