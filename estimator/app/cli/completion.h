// What may follow words of a command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/app/cli/flag_set.h"

namespace plimsoll::cli {

// Words that may stand in the place of the last of `words`, which the user has begun to write; the
// program's own name is not among them. None where a file is meant. Cost: reads the database, or
// the inputs of a model that the words name.
std::vector<std::string> completions(const std::vector<std::string>& words);
// The same for another program: `words` are those of `app`, whose verbs are its subcommands.
std::vector<std::string> completions(const FlagSet& app, const std::vector<std::string>& words);

// What follows `completion words --`, where a shell asks so for a program without that verb.
std::optional<std::vector<std::string>> asked_words(const std::vector<std::string>& arguments);
// A word a line; the exit status.
int print_words(const std::vector<std::string>& words);

}  // namespace plimsoll::cli
