// How names are looked up in the database, whatever they name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"

namespace plimsoll {

// ASCII letters in lower case.
std::string lower(std::string_view text);

// Whether `part` is one or more whole words of the id: "v100" and "v100-pcie" of "tesla-v100-pcie".
bool names_part(std::string_view id, std::string_view part);

// At most three, the nearest first. Dashes are what people leave out: "rtx4090".
std::vector<std::string> nearest_few(std::string_view word, std::vector<std::string> allowed);

// The text of a data file. E6xx where it cannot be read, E8xx where it is too large for one.
Result<std::string> read_data_file(const std::string& path);

}  // namespace plimsoll
