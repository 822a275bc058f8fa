#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "estimator/answer/on_host.h"
#include "estimator/app/cli/change_limits.h"
#include "estimator/app/cli/ci_report.h"
#include "estimator/app/cli/command_line.h"
#include "estimator/app/cli/defaults.h"
#include "estimator/app/cli/flag_groups.h"
#include "estimator/app/cli/open_database.h"
#include "estimator/app/cli/output.h"
#include "estimator/app/cli/page_file.h"
#include "estimator/app/cli/prices.h"
#include "estimator/app/cli/result_file.h"
#include "estimator/app/cli/shared_flags.h"
#include "estimator/app/cli/verb.h"
#include "estimator/app/html/compare_page.h"
#include "estimator/app/html/difference_page.h"
#include "estimator/app/report/comparison.h"
#include "estimator/app/report/difference.h"
#include "estimator/estimator.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"

namespace plimsoll::cli {
namespace {

struct CompareFlags {
  SharedFlags shared;
  OutputFlags output;
  PageFlags page;
  std::vector<std::string> prices;
  std::vector<std::string> others;  // a second result, or more models
  std::vector<std::string> limits;  // of --fail-if
  bool basis = false;
};

std::string answer_of(const Comparison& comparison, const OutputFlags& output) {
  if (output.json) return to_json(comparison);
  if (const TableForm* form = output.table()) return (comparison_table(comparison).*form->write)();
  return to_text(comparison, page_of(output), output.quiet);
}

// The results among what is compared: none, or both of two.
Result<std::vector<JsonValue>> results_in(const std::vector<std::string>& names) {
  std::vector<JsonValue> results;
  std::string other;
  for (const std::string& name : names) {
    if (name.starts_with("builtin:")) {
      other = name;
      continue;
    }
    auto result = TRY(read_result(name));
    if (result) {
      results.push_back(std::move(*result));
    } else {
      other = name;
    }
  }
  if (results.empty() || (results.size() == 2 && other.empty())) return results;
  return error("E112",
               other.empty() ? fmt::format("compare takes two results, not {}", results.size())
                             : fmt::format("compare takes models, or two results of estimate: {} "
                                           "is no result",
                                           shortened(other, kQuotedColumns)),
               {}, "plimsoll estimate MODEL --gpu ID --json > before.json");
}

// A card that is named twice would be compared with itself.
Result<void> check_cards(const std::vector<std::string>& names, const Hwdb& hwdb) {
  std::map<std::string, std::string> known;  // by the device's id
  for (const std::string& name : names) {
    if (is_host_device(name)) continue;
    const Device device = TRY(hwdb.device(name));
    const auto [at, fresh] = known.emplace(device.id, name);
    if (!fresh)
      return error("E114", fmt::format("{} and {} are the same GPU", setting("gpu", at->second),
                                       setting("gpu", name)));
  }
  return {};
}

// Estimates of every model on every GPU into `comparison`.
Result<void> estimate_all(const std::vector<std::string>& models, Request request, const Hwdb& hwdb,
                          const std::map<std::string, double>& prices, Comparison& comparison) {
  const std::vector<std::string> devices = request.devices;
  for (const std::string& model : models) {
    request.model = model;
    for (const std::string& device : devices) {
      request.devices = {device};
      if (is_host_device(device)) return of_memory_alone();
      auto estimated = estimate(request, hwdb);
      if (!estimated) return tl::make_unexpected(in_model(estimated.error(), model));
      comparison.estimates.push_back(std::move(*estimated));
      const auto price = prices.find(comparison.estimates.back().device_id);
      comparison.prices.push_back(price == prices.end() ? std::nullopt
                                                        : std::optional<double>(price->second));
    }
  }
  return {};
}

// Of the first estimate of each model: those on other cards say the same.
Diagnostics said_of(const Comparison& comparison) {
  Diagnostics said;
  for (const std::string& model : models_of(comparison)) {
    const auto of = std::ranges::find(comparison.estimates, model,
                                      [](const Estimate& e) { return e.input.model; });
    const Diagnostics own = in_model(of->diagnostics, model);
    said.insert(said.end(), own.begin(), own.end());
  }
  return said;
}

// For GitHub Actions, where it is they who run it.
void annotate(const AnswerDifference& difference) {
  if (!in_github_actions()) return;
  for (const LimitCheck& check : difference.limits) {
    if (check.exceeded)
      tell(fmt::format("::error title=plimsoll::{}\n", escaped_for_command(limit_text(check))));
  }
}

// Flags that say how to estimate: the answers are there already.
Diagnostics idle_settings(const CompareFlags& flags) {
  Diagnostics idle;
  std::set<std::string, std::less<>> names = flags.shared.names();
  if (!flags.prices.empty()) names.emplace("price");
  for (const std::string& name : names)
    idle.push_back(warning("W516", setting(name) + " has no effect: answers are compared as they "
                                                   "were written; estimate again with it"));
  return idle;
}

// Two results that were written before. Exit status 1 where one of the limits is exceeded.
int run_difference(const std::vector<JsonValue>& results, const CompareFlags& flags,
                   const std::vector<std::string>& names) {
  const auto idle = check_output(flags.output);
  if (!idle) return report(idle.error());
  report(*idle);
  report(idle_settings(flags));
  const auto limits = parse_change_limits(flags.limits);
  if (!limits) return report(limits.error());
  std::optional<OutputFile> page;
  if (const int fault = open_page(flags.page, page, {{"before", names[0]}, {"after", names[1]}});
      fault != 0)
    return fault;
  auto difference = difference_of(results[0], results[1], *limits);
  if (!difference) return report(difference.error());
  difference->file_a = names[0];
  difference->file_b = names[1];
  annotate(*difference);
  if (page) {
    const int fault = write_page(*page, difference_page(*difference, command_line()));
    if (fault != 0) return fault;
  }
  const int status = difference->passed() ? 0 : 1;
  if (flags.output.json) return print(to_json(*difference), status);
  if (const TableForm* form = flags.output.table())
    return print((difference_table(*difference).*form->write)(), status);
  return print(to_text(*difference, page_of(flags.output), flags.basis), status);
}

int run_compare(const CompareFlags& flags) {
  std::vector<std::string> models = {flags.shared.model};
  models.insert(models.end(), flags.others.begin(), flags.others.end());
  if (models.size() > 1) {
    const auto results = results_in(models);
    if (!results) return report(results.error());
    if (!results->empty()) return run_difference(*results, flags, models);
  }
  if (!flags.limits.empty())
    return report(
        error("E114", setting("fail-if") + " is for two answers of estimate, not models").value());
  std::vector<NamedFile> read;
  auto request = request_with_defaults(flags.shared, {}, &read);
  if (!request) return report(request.error());
  auto hwdb = open_database(*request, "compare", Gpus::kSeveral);
  if (!hwdb) return report(hwdb.error());
  models.front() = request->model;
  if (auto cards = check_cards(request->devices, *hwdb); !cards) return report(cards.error());
  auto idle = check_output(flags.output);
  if (!idle) return report(idle.error());
  if (const int fault = report(as_strict(*idle, request->strict)); fault != 0) return fault;
  const auto prices = parse_prices(flags.prices, request->devices, *hwdb);
  if (!prices) return report(prices.error());
  std::optional<OutputFile> page;
  for (const std::string& other : flags.others) read.push_back({{}, other});
  if (const int fault = open_page(flags.page, page, read); fault != 0) return fault;
  Comparison comparison;
  request->minimum = flags.output.json || page;
  if (auto all = estimate_all(models, *request, *hwdb, *prices, comparison); !all)
    return report(all.error());
  const int status = report(as_strict(said_of(comparison), request->strict));
  if (status != 0) return status;
  const bool any = std::ranges::any_of(comparison.estimates, &Estimate::fits);
  if (page) {
    const int fault = write_page(*page, compare_page(comparison, command_line()));
    if (fault != 0) return fault;
  }
  return print(answer_of(comparison, flags.output), any ? 0 : 1);
}

}  // namespace

Verb make_compare(const FlagSet& root) {
  auto flags = std::make_shared<CompareFlags>();
  FlagSet app =
      root.add_subcommand("compare",
                          "Compares models on several GPUs (exit status 0 if any fits), or two "
                          "saved answers of estimate (--json or --html).");
  add_shared(app, flags->shared);
  app.add_option("other", flags->others, "more models, or the second answer (a --json file)")
      .group(kVerbGroup);
  app.add_option("--price", flags->prices, "price of an hour of GPU ID, in any currency")
      .allow_extra_args(false)
      .type_name("ID=PRICE")
      .group(kVerbGroup);
  app.add_option("--fail-if", flags->limits,
                 "exit status 1 if the second answer's figure is larger by more: peak, step, live, "
                 "allocated or reserved")
      .allow_extra_args(false)
      .type_name("'peak>5%'")
      .group(kVerbGroup);
  app.add_flag("--basis", flags->basis, "for two answers: differences in where figures come from")
      .group(rarely(kOutputGroup));
  add_output(app, flags->output, "as JSON: a list of estimates, or the differences",
             "GPUs, or figures,");
  add_page(app, flags->page);
  return {app, [flags] { return run_compare(*flags); }};
}

}  // namespace plimsoll::cli
