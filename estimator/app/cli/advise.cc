#include <algorithm>
#include <iterator>

#include "estimator/app/cli/command_line.h"
#include "estimator/app/cli/defaults.h"
#include "estimator/app/cli/flag_groups.h"
#include "estimator/app/cli/idle_flags.h"
#include "estimator/app/cli/open_database.h"
#include "estimator/app/cli/output.h"
#include "estimator/app/cli/shared_flags.h"
#include "estimator/app/cli/verb.h"
#include "estimator/app/report/advice.h"
#include "estimator/app/search/advice.h"

namespace plimsoll::cli {
namespace {

struct AdviseFlags {
  SharedFlags shared;
  OutputFlags output;
  bool basis = false;
};

std::string answer_of(const Advice& advice, const OutputFlags& output, bool basis) {
  if (output.json) return to_json(advice);
  if (const TableForm* form = output.table()) return (remedy_table(advice.stacks).*form->write)();
  return to_text(advice, page_of(output), output.quiet, basis);
}

bool fits(const Remedy& remedy) { return remedy.verdict == Verdict::kFits; }

int run_advise(const AdviseFlags& flags) {
  auto request = request_with_defaults(flags.shared);
  if (!request) return report(request.error());
  auto hwdb = open_database(*request, "advise");
  if (!hwdb) return report(hwdb.error());
  auto idle = check_output(flags.output);
  if (!idle) return report(idle.error());
  std::ranges::move(idle_flags("advise", *request), std::back_inserter(*idle));
  if (const int fault = report(as_strict(*idle, request->strict)); fault != 0) return fault;
  const auto advice = advise(*request, *hwdb);
  if (!advice) return report(in_model(advice.error(), request->model));
  const int status =
      report(as_strict(in_model(advice->notes.diagnostics, request->model), request->strict));
  if (status != 0) return status;
  const bool helps = fits(advice->today) || std::ranges::any_of(advice->stacks, fits);
  return print(answer_of(*advice, flags.output, flags.basis), helps ? 0 : 1);
}

}  // namespace

Verb make_advise(const FlagSet& root) {
  auto flags = std::make_shared<AdviseFlags>();
  FlagSet app = root.add_subcommand(
      "advise",
      "Combinations of changes that make a step need less memory, the fastest first. Exit status 1 "
      "where none fits.");
  add_shared(app, flags->shared);
  add_output(app, flags->output, "as JSON", "combinations");
  app.add_flag("--basis", flags->basis, "where the figures come from, and the defaults used")
      .group(rarely(kOutputGroup));
  return {app, [flags] { return run_advise(*flags); }};
}

}  // namespace plimsoll::cli
