// A verb of plimsoll-calibrate: declares its flags, then runs. One file per verb.
#pragma once

#include <functional>
#include <string>

#include "estimator/app/cli/cli11.h"
#include "graph/base/diagnostic.h"

namespace plimsoll::calibrate {

struct Verb {
  CLI::App* app = nullptr;
  std::function<int()> run;  // the exit status
};

Verb make_ask(CLI::App& root);
Verb make_fit(CLI::App& root);
Verb make_replay(CLI::App& root);
Verb make_run(CLI::App& root);
Verb make_tables(CLI::App& root);

// Diagnostics on standard error; the exit status they mean.
int report(const Diagnostics& diagnostics);
// The exit status: 0, or that of E612, which is reported.
int write_file(const std::string& path, const std::string& bytes);
// For CLI::Option::check(): decimal whole numbers from `least` on.
std::function<std::string(const std::string&)> whole_from(int least);

}  // namespace plimsoll::calibrate
