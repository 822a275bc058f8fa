#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "estimator/app/cli/ci_report.h"
#include "estimator/app/cli/command_line.h"
#include "estimator/app/cli/defaults.h"
#include "estimator/app/cli/flag_groups.h"
#include "estimator/app/cli/meter_files.h"
#include "estimator/app/cli/model_name.h"
#include "estimator/app/cli/open_database.h"
#include "estimator/app/cli/output.h"
#include "estimator/app/cli/page_file.h"
#include "estimator/app/cli/progress.h"
#include "estimator/app/cli/read_request.h"
#include "estimator/app/cli/shared_flags.h"
#include "estimator/app/cli/tolerances.h"
#include "estimator/app/cli/verb.h"
#include "estimator/app/cli/work_flags.h"
#include "estimator/app/html/validation_page.h"
#include "estimator/app/report/text.h"
#include "estimator/app/report/validation.h"
#include "estimator/app/validate/tolerance.h"
#include "estimator/app/validate/validators.h"
#include "estimator/settings/ineffective_settings.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "hwdb/measured/source.h"

namespace plimsoll::cli {
namespace {

struct ValidateFlags {
  SharedFlags shared;
  PageFlags page;
  MeterFlags meters;
  std::vector<std::string> files, tolerances;
  OutputFlags output;
  CiFlags ci;
  WorkFlags work;
  bool allow_skipped = false, source_machines = false;
};

std::string allowed(const Tolerance& tolerance) {
  if (tolerance.relative) return fmt::format("{:.1f} %", 100 * *tolerance.relative);
  if (tolerance.bytes) return human_bytes(static_cast<int64_t>(*tolerance.bytes));
  return human_time(static_cast<int64_t>(1e9 * tolerance.seconds.value_or(0)));
}

// The first of those out of tolerance, on standard error: beside --json, and in a CI's log.
std::string outside_line(const ValidationLine& l, const Tolerances& tolerances) {
  return escaped_format("{}: record {}: {} of {}: measured {}, predicted {}, allowed {}\n",
                        shortened(l.file, 200), l.index, shortened(l.quantity, 60),
                        shortened(l.model.empty() ? l.op : l.model, 60), figure_text(l, l.measured),
                        figure_text(l, l.predicted),
                        allowed(tolerances.find(tolerance_class(l.quantity))->second));
}

// E108 where no file is named, E114 for runs that say themselves what they are beside one that
// flags describe, E122 for a model in the place of runs.
Result<void> check_files(const ValidateFlags& flags) {
  const std::vector<std::string>& files = flags.files;
  const bool metered = !flags.meters.from.empty();
  if (files.empty() && !metered) {
    return error("E108", "which measured runs? name their files", {},
                 "plimsoll validate runs.json --tolerance memory=10%, or --from snapshot=FILE");
  }
  if (!files.empty() && metered) {
    return error("E114", fmt::format("measured runs and {} exclude each other", setting("from")),
                 {},
                 setting("from") +
                     " is for one run, described by options; files of runs describe themselves");
  }
  for (const std::string& file : files) {
    auto runs = refuse_model(file, "validate", "files of measured runs",
                             "plimsoll estimate {} --gpu ID; measured runs are JSON or CSV that "
                             "name their models, as examples/measured-runs.csv");
    if (!runs) return runs;
  }
  return {};
}

std::vector<NamedFile> files_read(const ValidateFlags& flags) {
  std::vector<NamedFile> read = files_named_by(flags.shared);
  for (const std::string& file : flags.files) read.push_back({"validate", file});
  for (const std::string& meter : flags.meters.from)
    read.push_back({"from", meter.substr(meter.find('=') + 1)});
  return read;
}

const char* verb_of(const ValidateFlags& flags) {
  return flags.meters.from.empty() ? "validate" : "validate --from";
}

ValidationNotes notes_of(const ValidateFlags& flags, const Request& request, Diagnostics warnings) {
  ValidationNotes notes{.verb = verb_of(flags),
                        .files = flags.files,
                        .tolerances = flags.tolerances,
                        .allow_skipped = flags.allow_skipped,
                        .source_machines = flags.source_machines,
                        .notes = {.request = request, .diagnostics = std::move(warnings)}};
  notes.files.insert(notes.files.end(), flags.meters.from.begin(), flags.meters.from.end());
  std::vector<std::string>& basis = notes.notes.basis;
  if (flags.meters.from.empty()) basis.emplace_back("records describe what ran");
  if (!request.defaults.empty()) basis.push_back("defaults: " + request.defaults);
  if (flags.source_machines)
    basis.emplace_back("published runs are assumed to have had the machines in hwdb/sources.json");
  std::set<std::string, std::less<>>& given = notes.notes.request.given;
  if (!flags.tolerances.empty()) given.insert("tolerance");
  if (flags.allow_skipped) given.insert("allow-skipped");
  if (flags.source_machines) given.insert("source-machines");
  return notes;
}

// Every line on its way to all that is written of it.
class Answers {
 public:
  Answers(const ValidateFlags& flags, Tolerances tolerances, CiReport ci,
          std::optional<OutputFile> page, ValidationNotes notes)
      : notes_(std::move(notes)),
        judge_(std::move(tolerances), flags.allow_skipped),
        ci_(std::move(ci)),
        file_(std::move(page)),
        result_(
            flags.output.json ? ValidationReport::Form::kJson : ValidationReport::Form::kText,
            [this](const std::string& text) { written_ = written_ == 0 ? print(text) : written_; },
            page_of(flags.output), flags.output.table()) {}

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

  // Reports what is of all records.
  int add_warnings(const Diagnostics& warnings) {
    Diagnostics& all = notes_.notes.diagnostics;
    all.insert(all.end(), warnings.begin(), warnings.end());
    return report(warnings);
  }

  // `status`: the worst so far, of reading. The exit status.
  int finish(int status) {
    add_warnings(judge_.doubted_units());
    tell(outside_);
    Gate gate = judge_.gate();
    gate.passed = gate.passed && status == 0;
    const auto sums = summaries_.take();
    result_.finish(sums, gate, notes_);
    if (file_) {
      const int fault = write_page(*file_, page_.to_html(sums, gate, notes_, command_line()));
      if (fault != 0) return fault;
    }
    if (auto done = ci_.finish(gate); !done) return report(done.error());
    if (written_ != 0) return written_;
    return status != 0 ? status : gate.passed ? 0 : 1;
  }

 private:
  ValidationNotes notes_;
  Judge judge_;
  CiReport ci_;
  std::optional<OutputFile> file_;
  int written_ = 0, said_ = 0;
  std::string outside_;
  Summaries summaries_;
  ValidationPage page_;
  ValidationReport result_;
};

// Runs on their way to the validators, some thousand at a time: a bound on memory.
class Runs {
 public:
  Runs(Validators& validators, Answers& answers, Progress::When when)
      : validators_(validators), answers_(answers), progress_("validated", when) {}

  void add(MeasuredRun&& run, const std::string& file) {
    runs_.push_back({std::move(run), file});
    if (runs_.size() == kMost) flush();
  }
  void flush() {
    validators_.answer(
        runs_, [&](const ValidationLine& line) { answers_.add(line); },
        [&](size_t done) { progress_.at(before_ + static_cast<int64_t>(done)); });
    before_ += std::ssize(runs_);
    runs_.clear();
    progress_.end();
  }

 private:
  static constexpr size_t kMost = 4096;
  Validators& validators_;
  Answers& answers_;
  Progress progress_;
  std::vector<FiledRun> runs_;
  int64_t before_ = 0;
};

// The worst exit status of reading.
int answer_files(const ValidateFlags& flags, const Request& request, const Hwdb& hwdb,
                 Validators& validators, Answers& answers) {
  auto sources = MeasuredSources::open(hwdb, flags.source_machines);
  if (!sources) return report(sources.error());
  Runs runs(validators, answers, *progress_when(flags.work));
  int worst = 0;
  for (const std::string& name : flags.files) {
    const auto each = [&](MeasuredRun&& run) {
      if (run.device.empty() && request.devices.size() == 1) run.device = request.devices.front();
      if (run.model.empty()) run.model = request.model;
      runs.add(std::move(run), name);
    };
    Diagnostics warnings;
    const auto read = read_runs(name, *sources, each, request.limits, &warnings);
    const int fault = answers.add_warnings(as_strict(std::move(warnings), request.strict));
    worst = std::max({worst, fault, read ? 0 : report(read.error())});
  }
  runs.flush();
  return worst;
}

int answer_metered(MeteredRun metered, const Request& request, const Hwdb& hwdb,
                   Validator& validator, Answers& answers) {
  const auto device = hwdb.device(request.devices.front());
  if (!device) return report(device.error());
  if (auto its = check_cards(metered, *device, hwdb); !its) return report(its.error());
  metered.run.device = device->id;
  auto lines = validator.answer(metered.run, metered.files.front(), &request);
  for (size_t i = 0; i < lines.size(); ++i) {
    lines[i].file = metered.files[i];
    answers.add(lines[i]);
  }
  return 0;
}

int run_validate(const ValidateFlags& flags) {
  const bool by_flags = !flags.meters.from.empty();
  auto request = by_flags ? request_with_defaults(flags.shared) : to_request(flags.shared);
  if (!request) return report(request.error());
  Diagnostics warnings;
  if (!by_flags) {
    const auto defaults = with_defaults(flags.shared);
    if (!defaults) return report(defaults.error());
    if (!defaults->used.empty()) {
      warnings.push_back(note(
          "N523",
          "project defaults are not used: records describe what ran; ignored: " + defaults->used));
    }
  }
  std::ranges::move(ineffective_settings(verb_of(flags), *request), std::back_inserter(warnings));
  if (const int fault = report(warnings); fault != 0) return fault;
  const auto idle = check_output(flags.output);
  if (!idle) return report(idle.error());
  report(*idle);
  auto tolerances = parse_tolerances(flags.tolerances);
  if (!tolerances) return report(tolerances.error());
  if (auto named = check_files(flags); !named) return report(named.error());
  if (auto good = check_work(flags.work); !good) return report(good.error());
  auto metered = by_flags ? read_meters(flags.meters, *request) : MeteredRun();
  if (!metered) return report(metered.error());
  std::optional<OutputFile> file;
  const std::vector<NamedFile> read = files_read(flags);
  if (auto distinct = distinct_files({{"junit", flags.ci.junit}, {"html", flags.page.path}}, read);
      !distinct)
    return report(distinct.error());
  if (const int fault = open_page(flags.page, file); fault != 0) return fault;
  auto ci = CiReport::open(flags.ci);
  if (!ci) return report(ci.error());
  auto hwdb = by_flags ? open_database(*request, "validate --from FORM=FILE --batch 32 --model")
                       : Hwdb::open(request->hwdb_directory);
  if (!hwdb) return report(hwdb.error());
  if (!by_flags) report(hwdb->own_faults());
  auto calibrations = Calibrations::open(*hwdb);
  if (!calibrations) return report(calibrations.error());
  Answers answers(flags, std::move(*tolerances), std::move(*ci), std::move(file),
                  notes_of(flags, *request, std::move(warnings)));
  int worst = 0;
  if (by_flags) {
    Validator validator(*hwdb, *request, std::move(*calibrations));
    worst = answer_metered(std::move(*metered), *request, *hwdb, validator, answers);
  } else {
    Validators validators(*hwdb, *request, std::move(*calibrations), threads_of(flags.work));
    worst = answer_files(flags, *request, *hwdb, validators, answers);
  }
  return answers.finish(worst);
}

}  // namespace

Verb make_validate(const FlagSet& root) {
  auto flags = std::make_shared<ValidateFlags>();
  FlagSet app = root.add_subcommand("validate",
                                    "Compares measured runs with predictions. Exit status 1 if "
                                    "one is out of tolerance or was skipped.");
  add_shared(app, flags->shared, false, SettingRow::Shown::kRarely);  // of --from alone
  app.add_option("files", flags->files, "measured runs: JSON, CSV, a W&B or MLflow export")
      .group(kVerbGroup);
  app.add_option("--model", flags->shared.model, "model of runs that do not name one")
      .type_name("MODEL")
      .group(kVerbGroup);
  add_meters(app, flags->meters);
  app.add_option("--tolerance", flags->tolerances,
                 "allowed error: memory=10%, memory=100MiB, time=15%, time=2ms, share=20% "
                 "(utilisations) or fits=0% (whether a run fits)")
      .allow_extra_args(false)
      .type_name("NAME=N%")
      .group(kVerbGroup);
  app.add_flag("--allow-skipped", flags->allow_skipped,
               "exit status 0 even if records were skipped")
      .group(kVerbGroup);
  app.add_flag("--source-machines", flags->source_machines,
               "assume that published runs had the machines in hwdb/sources.json")
      .group(rarely(kVerbGroup));
  add_output(app, flags->output, "every record and the summaries as JSON", "every record");
  add_page(app, flags->page);
  add_ci(app, flags->ci);
  add_work(app, flags->work);
  return {app, [flags] { return run_validate(*flags); }};
}

}  // namespace plimsoll::cli
