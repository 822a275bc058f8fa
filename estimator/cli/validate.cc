#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "estimator/cli/ci_report.h"
#include "estimator/cli/command_line.h"
#include "estimator/cli/flag_groups.h"
#include "estimator/cli/idle_flags.h"
#include "estimator/cli/model_name.h"
#include "estimator/cli/open_database.h"
#include "estimator/cli/output.h"
#include "estimator/cli/page_file.h"
#include "estimator/cli/read_request.h"
#include "estimator/cli/shared_flags.h"
#include "estimator/cli/tolerances.h"
#include "estimator/cli/verb.h"
#include "estimator/plan/validate/tolerance.h"
#include "estimator/plan/validate/validate.h"
#include "estimator/report/html/validation_page.h"
#include "estimator/report/text.h"
#include "estimator/report/validation.h"
#include "graph/base/escape.h"
#include "hwdb/measured/source.h"

namespace plimsoll::cli {
namespace {

struct ValidateFlags {
  SharedFlags shared;
  PageFlags page;
  std::vector<std::string> files, tolerances;
  OutputFlags output;
  CiFlags ci;
  bool allow_skipped = false, source_machines = false;
};

std::string allowed(const Tolerance& tolerance) {
  if (tolerance.relative) return fmt::format("{:.1f} %", 100 * *tolerance.relative);
  if (tolerance.bytes) return human_bytes(static_cast<int64_t>(*tolerance.bytes));
  return human_time(static_cast<int64_t>(1e9 * tolerance.seconds.value_or(0)));
}

// The first of those out of tolerance, on standard error: beside --json, and in a CI's log.
std::string outside_line(const ValidationLine& l, const Tolerances& tolerances) {
  return escaped_format("{}: record {}: {} of {}: measured {:.4g}, predicted {:.4g}, allowed {}\n",
                        shortened(l.file, 200), l.index, shortened(l.quantity, 60),
                        shortened(l.model.empty() ? l.op : l.model, 60), *l.measured, *l.predicted,
                        allowed(tolerances.find(tolerance_class(l.quantity))->second));
}

// E108 where no file is named, E122 for a model in the place of runs.
Result<void> check_files(const std::vector<std::string>& files) {
  if (files.empty()) {
    return error("E108", "which measured runs? name their files", {},
                 "plimsoll validate runs.json --tolerance memory=10%");
  }
  for (const std::string& file : files) {
    auto runs = refuse_model(file, "validate", "files of measured runs",
                             "plimsoll estimate {} --gpu ID; measured runs are JSON or CSV that "
                             "name their models, as examples/measured-runs.csv");
    if (!runs) return runs;
  }
  return {};
}

// Every line on its way to all that is written of it.
class Answers {
 public:
  Answers(const ValidateFlags& flags, Tolerances tolerances, CiReport ci,
          std::optional<OutputFile> page)
      : judge_(std::move(tolerances), flags.allow_skipped),
        ci_(std::move(ci)),
        file_(std::move(page)),
        result_(
            flags.output.json ? ValidationReport::Form::kJson : ValidationReport::Form::kText,
            [this](const std::string& text) { written_ = written_ == 0 ? print(text) : written_; },
            page_of(flags.output)) {}

  void add(const ValidationLine& line) {
    const LineState state = judge_.add(line);
    summaries_.add(line);
    result_.add(line, state);
    if (file_) page_.add(line, state);
    const auto tolerance = judge_.tolerances().find(tolerance_class(line.quantity));
    ci_.add(line, state, tolerance == judge_.tolerances().end() ? "" : allowed(tolerance->second));
    constexpr int kMostSaid = 20;
    if (state == LineState::kOutside && said_++ < kMostSaid)
      outside_ += outside_line(line, judge_.tolerances());
  }

  // `status`: the worst so far, of reading. The exit status.
  int finish(int status) {
    report(judge_.doubted_units());
    std::fputs(outside_.c_str(), stderr);
    Gate gate = judge_.gate();
    gate.passed = gate.passed && status == 0;
    const auto sums = summaries_.take();
    result_.finish(sums, gate);
    if (file_) {
      const int fault = write_page(*file_, page_.to_html(sums, gate, command_line()));
      if (fault != 0) return fault;
    }
    if (auto done = ci_.finish(gate); !done) return report(done.error());
    if (written_ != 0) return written_;
    return status != 0 ? status : gate.passed ? 0 : 1;
  }

 private:
  Judge judge_;
  CiReport ci_;
  std::optional<OutputFile> file_;
  int written_ = 0, said_ = 0;
  std::string outside_;
  Summaries summaries_;
  ValidationPage page_;
  ValidationReport result_;
};

int run_validate(const ValidateFlags& flags) {
  auto request = to_request(flags.shared);
  if (!request) return report(request.error());
  if (const int fault = report(idle_flags("validate", *request)); fault != 0) return fault;
  const auto idle = check_output(flags.output);
  if (!idle) return report(idle.error());
  report(*idle);
  auto tolerances = parse_tolerances(flags.tolerances);
  if (!tolerances) return report(tolerances.error());
  if (auto named = check_files(flags.files); !named) return report(named.error());
  std::optional<OutputFile> file;
  if (const int fault = open_page(flags.page, file); fault != 0) return fault;
  auto ci = CiReport::open(flags.ci);
  if (!ci) return report(ci.error());
  auto hwdb = Hwdb::open(request->hwdb_directory);
  if (!hwdb) return report(hwdb.error());
  report(hwdb->own_faults());
  auto sources = MeasuredSources::open(*hwdb, flags.source_machines);
  if (!sources) return report(sources.error());
  auto calibrations = Calibrations::open(*hwdb);
  if (!calibrations) return report(calibrations.error());
  Validator validator(*hwdb, *request, std::move(*calibrations));
  Answers answers(flags, std::move(*tolerances), std::move(*ci), std::move(file));
  int worst = 0;
  for (const std::string& name : flags.files) {
    const auto each = [&](MeasuredRun&& run) {
      for (const ValidationLine& line : validator.answer(run, name)) answers.add(line);
    };
    Diagnostics warnings;
    const auto read = read_runs(name, *sources, each, request->limits, &warnings);
    const int fault = report(as_strict(std::move(warnings), request->strict));
    worst = std::max({worst, fault, read ? 0 : report(read.error())});
  }
  return answers.finish(worst);
}

}  // namespace

Verb make_validate(CLI::App& root) {
  auto flags = std::make_shared<ValidateFlags>();
  CLI::App* app = root.add_subcommand("validate",
                                      "Predicted against measured runs. Exit status 1 where one is "
                                      "out of tolerance or was skipped.");
  add_shared(*app, flags->shared, false);
  app->add_option("files", flags->files, "measured runs, JSON or CSV")->group(kVerbGroup);
  app->add_option("--tolerance", flags->tolerances,
                  "memory=10%, memory=100MiB, time=15%, time=2ms, share=20% or fits=0%")
      ->allow_extra_args(false)
      ->type_name("NAME=N%")
      ->group(kVerbGroup);
  app->add_flag("--allow-skipped", flags->allow_skipped,
                "records that cannot be predicted do not fail")
      ->group(kVerbGroup);
  app->add_flag("--source-machines", flags->source_machines,
                "published sources ran on the machines that hwdb/sources.json knows them by")
      ->group(rarely(kVerbGroup));
  add_output(*app, flags->output, "every record and the summaries as JSON", "");
  add_page(*app, flags->page);
  add_ci(*app, flags->ci);
  return {app, [flags] { return run_validate(*flags); }};
}

}  // namespace plimsoll::cli
