// A verb of the command line: declares its flags, then runs. One file per verb; main.cc lists them.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "graph/base/diagnostic.h"

namespace plimsoll::cli {

struct Verb {
  CLI::App* app = nullptr;
  std::function<int()> run;  // the exit status
};

Verb make_estimate(CLI::App& root);
Verb make_max_batch(CLI::App& root);
Verb make_sweep(CLI::App& root);
Verb make_validate(CLI::App& root);
Verb make_compare(CLI::App& root);
Verb make_workspace(CLI::App& root);
Verb make_gpus(CLI::App& root);
Verb make_links(CLI::App& root);
Verb make_frameworks(CLI::App& root);
Verb make_ops(CLI::App& root);
Verb make_models(CLI::App& root);
Verb make_explain(CLI::App& root);
Verb make_schema(CLI::App& root);
Verb make_version(CLI::App& root);

// Diagnostics on standard error, at most 20 and a count of the rest; all of them, as JSON lines,
// where the user asked for --error-format json. Returns the exit status they mean.
int report(const Diagnostics& diagnostics);

// The whole text on standard output, or exit status 4 and a message where it cannot be written.
int print(const std::string& text, int status = 0);

}  // namespace plimsoll::cli
