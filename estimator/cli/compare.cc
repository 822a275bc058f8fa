#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "estimator/cli/command_line.h"
#include "estimator/cli/defaults.h"
#include "estimator/cli/flag_groups.h"
#include "estimator/cli/open_database.h"
#include "estimator/cli/output.h"
#include "estimator/cli/page_file.h"
#include "estimator/cli/prices.h"
#include "estimator/cli/result_file.h"
#include "estimator/cli/shared_flags.h"
#include "estimator/cli/verb.h"
#include "estimator/estimator.h"
#include "estimator/report/comparison.h"
#include "estimator/report/difference.h"
#include "estimator/report/html/compare_page.h"
#include "graph/base/escape.h"

namespace plimsoll::cli {
namespace {

struct CompareFlags {
  SharedFlags shared;
  OutputFlags output;
  PageFlags page;
  std::vector<std::string> prices;
  std::string other;  // a second result
};

std::string answer_of(const Comparison& comparison, const OutputFlags& output) {
  if (output.json) return to_json(comparison);
  if (output.csv) return comparison_table(comparison).csv();
  if (output.markdown) return comparison_table(comparison).markdown();
  return to_text(comparison, page_of(output), output.quiet);
}

// Two results that were written before.
int run_difference(const CompareFlags& flags) {
  std::vector<JsonValue> results;
  for (const std::string& path : {flags.shared.model, flags.other}) {
    auto result = read_result(path);
    if (!result) return report(result.error());
    if (!*result) {
      return report(error("E112",
                          fmt::format("compare takes one model, or two results of estimate: {} is "
                                      "no result",
                                      shortened(path, kQuotedColumns)),
                          {}, "plimsoll estimate MODEL --gpu ID --json > before.json")
                        .value());
    }
    results.push_back(std::move(**result));
  }
  const OutputFlags& output = flags.output;
  if (output.json)
    return report(error("E112", "--json is not for two results: --csv has the figures").value());
  const Table table = difference_table(results[0], results[1]);
  if (output.csv) return print(table.csv());
  if (output.markdown) return print(table.markdown());
  return print(difference_text(results[0], results[1], page_of(output)));
}

int run_compare(const CompareFlags& flags) {
  if (!flags.other.empty()) return run_difference(flags);
  auto request = request_with_defaults(flags.shared);
  if (!request) return report(request.error());
  auto hwdb = open_database(*request, "compare", Gpus::kSeveral);
  if (!hwdb) return report(hwdb.error());
  auto idle = check_output(flags.output);
  if (!idle) return report(idle.error());
  if (const int fault = report(as_strict(*idle, request->strict)); fault != 0) return fault;
  const auto prices = parse_prices(flags.prices, request->devices, *hwdb);
  if (!prices) return report(prices.error());
  std::optional<OutputFile> page;
  if (const int fault = open_page(flags.page, page); fault != 0) return fault;
  Comparison comparison;
  request->minimum = flags.output.json || page;
  const std::vector<std::string> devices = request->devices;
  for (const std::string& device : devices) {
    request->devices = {device};
    auto estimated = estimate(*request, *hwdb);
    if (!estimated) return report(in_model(estimated.error(), request->model));
    comparison.estimates.push_back(std::move(*estimated));
    const auto price = prices->find(comparison.estimates.back().device_id);
    comparison.prices.push_back(price == prices->end() ? std::nullopt
                                                       : std::optional<double>(price->second));
  }
  const int status = report(as_strict(
      in_model(comparison.estimates.front().diagnostics, request->model), request->strict));
  if (status != 0) return status;
  const bool any = std::ranges::any_of(comparison.estimates, &Estimate::fits);
  if (page) {
    const int fault = write_page(*page, compare_page(comparison.estimates, command_line()));
    if (fault != 0) return fault;
  }
  return print(answer_of(comparison, flags.output), any ? 0 : 1);
}

}  // namespace

Verb make_compare(CLI::App& root) {
  auto flags = std::make_shared<CompareFlags>();
  CLI::App* app =
      root.add_subcommand("compare",
                          "One model on several GPUs, exit status 0 if any fits; or two results of "
                          "estimate, --json or --html.");
  add_shared(*app, flags->shared);
  app->add_option("other", flags->other, "a second result, where MODEL is one")->group(kVerbGroup);
  app->add_option("--price", flags->prices, "of an hour of a GPU, in any currency")
      ->allow_extra_args(false)
      ->type_name("ID=PRICE")
      ->group(kVerbGroup);
  add_output(*app, flags->output, "a list of estimates", "GPUs");
  add_page(*app, flags->page);
  return {app, [flags] { return run_compare(*flags); }};
}

}  // namespace plimsoll::cli
