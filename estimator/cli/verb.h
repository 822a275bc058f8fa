// A verb of the command line: declares its flags, then runs. One file per verb, a row each.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "estimator/cli/messages.h"

namespace plimsoll::cli {

struct Verb {
  CLI::App* app = nullptr;
  std::function<int()> run;  // the exit status
};

struct VerbRow {
  std::string_view name;
  Verb (*make)(CLI::App& root);
};
std::span<const VerbRow> all_verbs();

Verb make_estimate(CLI::App& root);
Verb make_max_batch(CLI::App& root);
Verb make_sweep(CLI::App& root);
Verb make_validate(CLI::App& root);
Verb make_compare(CLI::App& root);
Verb make_check(CLI::App& root);
Verb make_completion(CLI::App& root);
Verb make_workspace(CLI::App& root);
Verb make_gpus(CLI::App& root);
Verb make_links(CLI::App& root);
Verb make_frameworks(CLI::App& root);
Verb make_hosts(CLI::App& root);
Verb make_ops(CLI::App& root);
Verb make_models(CLI::App& root);
Verb make_explain(CLI::App& root);
Verb make_schema(CLI::App& root);
Verb make_version(CLI::App& root);

}  // namespace plimsoll::cli
