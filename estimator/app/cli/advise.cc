#include <algorithm>
#include <iterator>
#include <thread>

#include "estimator/app/cli/command_line.h"
#include "estimator/app/cli/defaults.h"
#include "estimator/app/cli/flag_groups.h"
#include "estimator/app/cli/open_database.h"
#include "estimator/app/cli/output.h"
#include "estimator/app/cli/page_file.h"
#include "estimator/app/cli/shared_flags.h"
#include "estimator/app/cli/verb.h"
#include "estimator/app/html/advise_page.h"
#include "estimator/app/report/advice.h"
#include "estimator/app/report/plan_advice.h"
#include "estimator/app/search/advice.h"
#include "estimator/app/search/changes.h"
#include "estimator/app/search/plan_search.h"
#include "estimator/settings/ineffective_settings.h"
#include "estimator/settings/values.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"

namespace plimsoll::cli {
namespace {

struct AdviseFlags {
  SharedFlags shared;
  OutputFlags output;
  PageFlags page;
  bool basis = false;
};

Table table_of(const Advice& advice) { return remedy_table(advice.stacks); }
Table table_of(const PlanAdvice& advice) { return plan_table(advice.plans); }

template <class Answer>
std::string answer_of(const Answer& advice, const OutputFlags& output, bool basis) {
  if (output.json) return to_json(advice);
  if (const TableForm* form = output.table()) return (table_of(advice).*form->write)();
  return to_text(advice, page_of(output), output.quiet, basis);
}

bool fits(const Remedy& remedy) { return remedy.verdict == Verdict::kFits; }
bool any_fits(const Advice& advice) {
  return fits(advice.today) || std::ranges::any_of(advice.stacks, fits);
}
bool any_fits(const PlanAdvice& advice) {
  return !advice.plans.empty() && advice.plans.front().verdict == Verdict::kFits;
}

template <class Answer>
int print_advice(const Result<Answer>& advice, const Request& request, const AdviseFlags& flags,
                 std::optional<OutputFile>& page) {
  if (!advice) return report(in_model(advice.error(), request.model));
  const int status =
      report(as_strict(in_model(advice->notes.diagnostics, request.model), request.strict));
  if (status != 0) return status;
  if (page) {
    const int fault = write_page(*page, advise_page(*advice, request.model, command_line()));
    if (fault != 0) return fault;
  }
  return print(answer_of(*advice, flags.output, flags.basis), any_fits(*advice) ? 0 : 1);
}

// Flags of plans only.
constexpr const char* kOfPlans[] = {"global-batch", "tokens", "price"};

Result<PlanSearchOptions> search_of(const AdviseFlags& flags) {
  constexpr int64_t kMostSamples = int64_t{1} << 30, kMostThreads = 1024;
  constexpr double kMostTokens = 1e18, kHighestPrice = 1e6;
  PlanSearchOptions options{.threads = std::thread::hardware_concurrency()};
  if (const std::string* text = value_of(flags.shared, "threads")) {
    const auto threads = TRY(parse_count(setting("threads"), *text, 1, kMostThreads));
    options.threads = static_cast<size_t>(threads);
  }
  if (const std::string* text = value_of(flags.shared, "global-batch"))
    options.global_batch = TRY(parse_count(setting("global-batch"), *text, 1, kMostSamples));
  if (const std::string* text = value_of(flags.shared, "tokens"))
    options.tokens = TRY(parse_real(setting("tokens"), *text, 1, kMostTokens));
  if (const std::string* text = value_of(flags.shared, "price"))
    options.price = TRY(parse_real(setting("price"), *text, 0, kHighestPrice));
  return options;
}

int run_advise(const AdviseFlags& flags) {
  std::vector<NamedFile> read;
  auto request = request_with_defaults(flags.shared, {}, &read);
  if (!request) return report(request.error());
  auto hwdb = open_database(*request, "advise");
  if (!hwdb) return report(hwdb.error());
  auto idle = check_output(flags.output);
  if (!idle) return report(idle.error());
  std::ranges::move(ineffective_settings("advise", *request), std::back_inserter(*idle));
  if (const int fault = report(as_strict(*idle, request->strict)); fault != 0) return fault;
  auto search = search_of(flags);
  if (!search) return report(search.error());
  std::optional<OutputFile> page;
  if (const int fault = open_page(flags.page, page, read); fault != 0) return fault;
  search->lanes = page.has_value();
  if (shares_training(*request))
    return print_advice(advise_plans(*request, *hwdb, *search), *request, flags, page);
  for (const char* name : kOfPlans) {
    if (!value_of(flags.shared, name)) continue;
    return report(error("E117", setting(name) + ": it is only for training on several GPUs", {},
                        setting("gpus") + " sets how many")
                      .value());
  }
  return print_advice(advise(*request, *hwdb), *request, flags, page);
}

}  // namespace

Verb make_advise(const FlagSet& root) {
  auto flags = std::make_shared<AdviseFlags>();
  FlagSet app = root.add_subcommand(
      "advise",
      "Lists combinations of changes that reduce memory, the fastest first; for several GPUs the "
      "best plans to distribute a model. Exit status 1 if none fits.");
  add_shared(app, flags->shared);
  add_value(app, flags->shared, "global-batch",
            "samples per update on all GPUs together [--batch on each GPU]", "N", kVerbGroup);
  add_value(app, flags->shared, "tokens",
            "tokens of the whole run, such as 15e12; shows how long it takes", "N",
            rarely(kVerbGroup));
  add_value(app, flags->shared, "price", "price of an hour of a GPU; shows what the run costs",
            "PRICE", rarely(kVerbGroup));
  add_value(app, flags->shared, "threads", "number of threads [one for each CPU]", "N",
            rarely(kOutputGroup));
  add_output(app, flags->output, "print the result as JSON", "combinations");
  add_page(app, flags->page);
  app.add_flag("--basis", flags->basis, "where the figures come from, and the defaults in use")
      .group(rarely(kOutputGroup));
  return {app, [flags] { return run_advise(*flags); }};
}

}  // namespace plimsoll::cli
