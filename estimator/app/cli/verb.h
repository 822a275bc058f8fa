// A verb of the command line: declares its flags, then runs. One file per verb, a row each.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "estimator/app/cli/flag_set.h"
#include "estimator/app/cli/messages.h"

namespace plimsoll::cli {

struct Verb {
  FlagSet app;
  std::function<int()> run;  // the exit status
};

// In the order in which help lists them.
struct VerbRow {
  std::string_view name;
  Verb (*make)(const FlagSet& root);
  std::string_view summary;  // in the list of commands
  // What its help begins with.
  std::array<std::string_view, 2> examples = {};
};
std::span<const VerbRow> all_verbs();

}  // namespace plimsoll::cli
