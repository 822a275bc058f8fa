// How names are looked up in the database, whatever they name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"

namespace plimsoll {

// Whether `part` is one or more whole words of the id: "v100" and "v100-pcie" of "tesla-v100-pcie".
bool names_part(std::string_view id, std::string_view part);

// At most three, the nearest first. Dashes are what people leave out: "rtx4090".
std::vector<std::string> nearest_few(std::string_view word, std::vector<std::string> allowed);

}  // namespace plimsoll
