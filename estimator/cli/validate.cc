#include <fmt/format.h>

#include <cmath>
#include <map>

#include "estimator/cli/options.h"
#include "estimator/cli/values.h"
#include "estimator/cli/verb.h"
#include "estimator/plan/validate.h"
#include "estimator/report/validation.h"
#include "hwdb/measured_source.h"

namespace plimsoll::cli {
namespace {

struct ValidateFlags {
  SharedFlags shared;
  std::vector<std::string> files, tolerances;
  bool json = false;
};

// "memory=10%" or "time=0.15".
Result<std::map<std::string, double>> parse_tolerances(const std::vector<std::string>& texts) {
  std::map<std::string, double> tolerances;
  for (const std::string& text : texts) {
    auto pair = parse_assignment("--tolerance", text);
    if (!pair) return tl::make_unexpected(pair.error());
    if (auto known = parse_word("--tolerance", pair->first, {"memory", "time"}); !known)
      return tl::make_unexpected(known.error());
    const bool percent = pair->second.ends_with("%");
    const std::string number =
        percent ? pair->second.substr(0, pair->second.size() - 1) : pair->second;
    auto value = parse_real("--tolerance " + pair->first, number, 0, 1000);
    if (!value) return tl::make_unexpected(value.error());
    tolerances[pair->first] = percent ? *value / 100 : *value;
  }
  return tolerances;
}

// How many lines are farther off than their class tolerates; said on standard error.
int64_t out_of_tolerance(const Validation& v, const std::map<std::string, double>& tolerances) {
  int64_t count = 0;
  for (const ValidationLine& l : v.lines) {
    const auto at = tolerances.find(std::string(tolerance_class(l.quantity)));
    if (!l.error || at == tolerances.end() || std::abs(*l.error) <= at->second) continue;
    if (++count > 20) continue;
    std::fputs(
        fmt::format("{}: record {}: {} of {} is {:+.1f} % off, allowed {:.1f} %\n", l.file, l.index,
                    l.quantity, l.model.empty() ? l.op : l.model, 100 * *l.error, 100 * at->second)
            .c_str(),
        stderr);
  }
  if (count > 0)
    std::fputs(fmt::format("{} of {} out of tolerance\n", count, v.lines.size()).c_str(), stderr);
  return count;
}

int run_validate(const ValidateFlags& flags) {
  auto request = to_request(flags.shared);
  if (!request) return report(request.error());
  auto tolerances = parse_tolerances(flags.tolerances);
  if (!tolerances) return report(tolerances.error());
  if (flags.files.empty()) {
    return report({{.code = "E108",
                    .severity = Severity::kError,
                    .message = "which measured runs? name their files",
                    .place = {},
                    .help = "plimsoll validate runs.json --tolerance memory=10%"}});
  }
  auto hwdb = Hwdb::open(request->hwdb_directory);
  if (!hwdb) return report(hwdb.error());
  auto sources = MeasuredSources::open(*hwdb);
  if (!sources) return report(sources.error());
  auto calibrations = Calibrations::open(*hwdb);
  if (!calibrations) return report(calibrations.error());
  Validator validator(*hwdb, *request, std::move(*calibrations));
  Validation validation;
  int worst = 0;
  for (const std::string& file : flags.files) {
    auto runs = read_runs(file, *sources, request->limits);
    if (!runs) {
      worst = std::max(worst, report(runs.error()));
      continue;
    }
    for (const MeasuredRun& r : *runs) {
      for (ValidationLine& l : validator.answer(r, file)) validation.lines.push_back(std::move(l));
    }
  }
  validation.summaries = summarize(validation.lines);
  if (worst == 0 && out_of_tolerance(validation, *tolerances) > 0) worst = 1;
  return print(flags.json ? to_json(validation) : to_text(validation), worst);
}

}  // namespace

Verb make_validate(CLI::App& root) {
  auto flags = std::make_shared<ValidateFlags>();
  CLI::App* app = root.add_subcommand(
      "validate", "predicted against measured runs; exit 1 where out of tolerance");
  add_shared(*app, flags->shared, false);
  app->add_option("files", flags->files, "measured runs, JSON or CSV");
  app->add_option("--tolerance", flags->tolerances, "memory=10% or time=15%")
      ->allow_extra_args(false);
  app->add_flag("--json", flags->json, "every record and the summaries as JSON");
  return {app, [flags] { return run_validate(*flags); }};
}

}  // namespace plimsoll::cli
