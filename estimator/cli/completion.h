// What may follow words of a command line.
#pragma once

#include <string>
#include <vector>

namespace plimsoll::cli {

// Words that may stand in the place of the last of `words`, which the user has begun to write; the
// program's own name is not among them. None where a file is meant. Cost: reads the database, or
// the inputs of a model that the words name.
std::vector<std::string> completions(const std::vector<std::string>& words);

}  // namespace plimsoll::cli
