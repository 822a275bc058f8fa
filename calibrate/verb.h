// A verb of plimsoll-calibrate: declares its flags, then runs. One file per verb.
#pragma once

#include <functional>
#include <string>

#include "estimator/app/cli/flag_set.h"
#include "graph/base/diagnostic.h"

namespace plimsoll::calibrate {

struct Verb {
  cli::FlagSet app;
  std::function<int()> run;  // the exit status
};

Verb make_ask(const cli::FlagSet& root);
Verb make_fit(const cli::FlagSet& root);
Verb make_replay(const cli::FlagSet& root);
Verb make_run(const cli::FlagSet& root);
Verb make_tables(const cli::FlagSet& root);

// Diagnostics on standard error; the exit status they mean.
int report(const Diagnostics& diagnostics);
// The exit status: 0, or that of E612, which is reported.
int write_file(const std::string& path, const std::string& bytes);
// For Flag::check(): decimal whole numbers from `least` on.
std::function<std::string(const std::string&)> whole_from(int least);

}  // namespace plimsoll::calibrate
