#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "estimator/cli/command_line.h"
#include "estimator/cli/flag_groups.h"
#include "estimator/cli/idle_flags.h"
#include "estimator/cli/interrupt.h"
#include "estimator/cli/local_gpu.h"
#include "estimator/cli/model_name.h"
#include "estimator/cli/open_database.h"
#include "estimator/cli/output.h"
#include "estimator/cli/page_file.h"
#include "estimator/cli/progress.h"
#include "estimator/cli/read_request.h"
#include "estimator/cli/shared_flags.h"
#include "estimator/cli/sweep_axes.h"
#include "estimator/cli/sweep_log.h"
#include "estimator/cli/verb.h"
#include "estimator/cli/work_flags.h"
#include "estimator/model/model_source.h"
#include "estimator/report/html/sweep_page.h"
#include "estimator/report/sweep.h"
#include "graph/base/byte_source.h"
#include "graph/base/escape.h"

namespace plimsoll::cli {
namespace {

struct SweepFlags {
  SharedFlags shared;
  PageFlags page;
  std::string plan, out, resume;
  WorkFlags work;
  std::optional<int64_t> seed;  // the plan's
  bool json = false, count_only = false, memory_only = false, dry_run = false;
};

Result<SweepPlan> read_plan(const std::string& path, const Limits& limits) {
  const auto source = ByteSource::open(path, limits);
  if (!source) return tl::make_unexpected(source.error());
  const auto text = whole_text(*source, limits);
  if (!text) return tl::make_unexpected(text.error());
  return read_sweep_plan(*text, source->name(), limits);
}

// A plan names its model's file as seen from its own folder.
std::string model_beside(const std::string& plan, const std::string& model) {
  if (model.empty() || model.starts_with("builtin:") || plan == "-") return model;
  return (std::filesystem::path(plan).parent_path() / model).string();
}

Result<void> check_flags(const SweepFlags& sweep) {
  constexpr std::string_view kExample = "plimsoll sweep plan.yaml, or --model builtin:resnet50";
  if (auto good = check_work(sweep.work); !good) return good;
  const SharedFlags& flags = sweep.shared;
  if (flags.model.empty())
    return error("E108", "which model? neither the plan nor --model names one", {},
                 std::string(kExample));
  if (flags.model == "-")
    return error("E112", "a sweep reads its model more than once: name a file, not -");
  if (flags.gpus.size() > 1)
    return error("E114", "--gpu is given more than once", {}, "in the plan: gpu: [ID, ID]");
  if (!flags.lengths.empty() || !flags.longest.empty()) {
    return error("E112", "--lengths and --longest are not for sweeps", {},
                 "name the dimension as a parameter of the plan");
  }
  return {};
}

// The machine's own card, where plan or flags name it, or no GPU at all.
Result<void> find_local(const SweepPlan& plan, SharedFlags& flags, Hwdb& hwdb) {
  const auto swept = std::ranges::find(plan.parameters, "gpu", &SweepParameter::name);
  if (swept == plan.parameters.end())
    return find_local_gpu(hwdb, flags.gpus, "in the plan, or with --gpu ID");
  std::vector<std::string> gpus;
  for (const JsonValue& value : swept->values) gpus.push_back(text_of(value));
  return gpus.empty() ? Result<void>() : find_local_gpu(hwdb, gpus, "");
}

// What is to be written, in pieces as pipes take them.
class Output {
 public:
  bool add(const std::string& text) {
    text_ += text;
    return text_.size() < kPiece || flush();
  }
  bool flush() {
    good_ = good_ && print(text_) == 0;
    text_.clear();
    return good_;
  }
  bool good() const { return good_; }

 private:
  static constexpr size_t kPiece = 1 << 16;
  std::string text_;
  bool good_ = true;
};

// What is asked of a sweep.
struct SweepJob {
  const SweepFlags& flags;
  const SweepPlan& plan;
  const SweepAxes& axes;
  const Hwdb& hwdb;
  int64_t configurations;
  std::optional<std::vector<int64_t>> chosen;  // of them, rising; else all
  std::optional<SweepLog> log{};
  std::optional<OutputFile> page{};

  int64_t asked() const { return chosen ? std::ssize(*chosen) : configurations; }
  bool is_asked(const SweptConfiguration& configuration) const {
    return !chosen || std::ranges::binary_search(*chosen, configuration.number);
  }
};

// Takes the answers to all points, in order.
class SweepAnswer {
 public:
  SweepAnswer(SweepJob& job, const SweepFlags& flags)
      : job_(job),
        lines_(flags.json && !flags.count_only),
        listed_(!flags.json && !flags.count_only),
        time_(!flags.memory_only),
        page_(job.plan, time_),
        dips_(job.axes.sizes()),
        progress_("swept", job.asked(), *progress_when(flags.work)) {}

  // Whether to go on.
  bool add(const SweepPoint& point) {
    if (!job_.chosen) dips_.add(point);
    for (const SweptConfiguration& configuration : job_.axes.at(point)) {
      if (!job_.is_asked(configuration)) continue;
      plimsoll::add(configuration, point, summary_);
      if (job_.page || listed_) best_.add(configuration, point);
      if (job_.page) page_.add(configuration, point);
      if (!job_.log && !lines_) continue;
      const std::string line = to_json_line(job_.plan, configuration, point, time_);
      if (lines_) out_.add(line + "\n");
      if (!job_.log) continue;
      if (auto added = job_.log->add(configuration, line); !added) fault_ = added.error();
    }
    progress_.at(summary_.configurations, job_.log ? static_cast<int64_t>(job_.log->resumed()) : 0);
    return out_.good() && !fault_ && !interrupted();
  }

  const std::optional<Diagnostics>& fault() const { return fault_; }
  // What stands there already.
  void flush() {
    progress_.end();
    out_.flush();
  }

  int finish(double seconds) {
    progress_.end();
    summary_.seconds = seconds;
    report(dips_.told());
    if (job_.page) {
      const std::string& model = job_.flags.shared.model;
      const int fault =
          write_page(*job_.page, page_.to_html(summary_, best_, model, command_line()));
      if (fault != 0) return fault;
    }
    out_.add(job_.flags.json ? to_json_line(summary_) : to_text(summary_));
    if (listed_) out_.add(best_.to_text(job_.plan, time_, page_of({})));
    return out_.flush() ? (summary_.fit > 0 ? 0 : 1) : 4;
  }

 private:
  SweepJob& job_;
  bool lines_, listed_, time_;
  Output out_;
  SweepSummary summary_;
  SweepBest best_;
  SweepPage page_;
  SweepDips dips_;
  Progress progress_;
  std::optional<Diagnostics> fault_;
};

SweepOptions options_of(const SweepJob& job) {
  SweepOptions options{.time = !job.flags.memory_only, .threads = threads_of(job.flags.work)};
  if (!job.flags.resume.empty() || job.chosen) {
    options.known = [&job](size_t variant, int64_t index) -> std::optional<SweepPoint> {
      SweepPoint point;
      point.variant = variant;
      point.point = index;
      const auto configurations = job.axes.at(point);
      const auto asked = [&](const SweptConfiguration& one) { return job.is_asked(one); };
      if (std::ranges::none_of(configurations, asked)) return point;  // nobody hears of it
      if (job.flags.resume.empty()) return std::nullopt;
      auto known = job.log->known(configurations);
      if (known) {
        known->variant = variant;
        known->point = index;
      }
      return known;
    };
  }
  return options;
}

int answer(SweepJob& job) {
  const auto begun = std::chrono::steady_clock::now();
  std::optional<Interrupts> listening;
  if (job.log) listening.emplace();
  std::optional<SweepAnswer> answer(std::in_place, job, job.flags);
  const auto swept = sweep(job.axes.variants(), job.axes.sizes(), job.hwdb, options_of(job),
                           [&](const SweepPoint& point) { return answer->add(point); });
  const std::string& model = job.flags.shared.model;
  if (!swept || answer->fault() || interrupted()) answer->flush();
  if (!swept) return report(in_model(swept.error(), model));
  if (answer->fault()) return report(*answer->fault());
  if (interrupted()) {
    if (job.log) {
      tell(fmt::format("interrupted: {} holds {} of {} configurations; go on with --resume {}\n",
                       job.log->path(), job.log->records(), job.asked(), job.log->path()));
    }
    return kInterrupted;
  }
  const int status = report(as_strict(in_model(*swept, model), job.flags.shared.strict));
  if (status != 0) return status;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun;
  return answer->finish(spent.count());
}

Result<void> open_log(const SweepFlags& flags, std::optional<SweepLog>& log) {
  if (!flags.out.empty() && !flags.resume.empty())
    return error("E114", "--out starts a file and --resume goes on with one: name one of them");
  if (flags.out.empty() && flags.resume.empty()) return {};
  auto opened = flags.resume.empty() ? SweepLog::start(flags.out) : SweepLog::resume(flags.resume);
  if (!opened) return tl::make_unexpected(opened.error());
  log.emplace(std::move(*opened));
  return {};
}

// "48 configurations: 4 batch x 12 gpu", or of how many `chosen` are.
std::string title_of(const SweepPlan& plan, int64_t configurations, int64_t chosen) {
  const std::string listed = axes_text(plan);
  std::string count = std::to_string(configurations);
  if (chosen >= 0 && plan.random)
    count = fmt::format("{}, by chance with seed {}, of {}", chosen, plan.seed, configurations);
  if (chosen >= 0 && !plan.random) count = fmt::format("the first {} of {}", chosen, count);
  return fmt::format("{} configuration{}{}{}\n", count, configurations == 1 ? "" : "s",
                     listed.empty() ? "" : ": ", listed);
}

int run_sweep(const SweepFlags& given) {
  SweepFlags flags = given;
  const auto request = to_request(flags.shared);
  if (!request) return report(request.error());
  if (const int fault = report(as_strict(idle_flags("sweep", *request), request->strict));
      fault != 0)
    return fault;
  if (flags.plan.empty()) {
    return report(
        error("E108", "which plan? name its file", {}, "plimsoll sweep plan.yaml").value());
  }
  if (auto plan = refuse_model(flags.plan, "sweep", "a plan",
                               "plimsoll sweep PLAN.yaml --model {}, with a plan as in "
                               "examples/sweep.yaml; for one run: plimsoll estimate");
      !plan)
    return report(plan.error());
  auto plan = read_plan(flags.plan, request->limits);
  if (!plan) return report(plan.error());
  if (flags.seed) plan->seed = *flags.seed;
  if (flags.seed && !(plan->random && plan->run_cap))
    return report(error("E112", "--seed is for plans with method: random and a run_cap").value());
  const auto configurations = plan->configurations(request->limits);
  if (!configurations) return report(configurations.error());
  if (flags.shared.model.empty()) flags.shared.model = model_beside(flags.plan, plan->model);
  if (auto good = check_flags(flags); !good) return report(good.error());
  auto hwdb = Hwdb::open(request->hwdb_directory);
  if (!hwdb) return report(hwdb.error());
  report(hwdb->own_faults());
  if (auto found = find_local(*plan, flags.shared, *hwdb); !found) return report(found.error());
  Request loaded = *request;
  loaded.model = flags.shared.model;
  const auto model = load_model_inputs(loaded);
  if (!model) return report(in_model(model.error(), flags.shared.model));
  const auto axes = SweepAxes::make(*plan, flags.shared, names_of(*model), *hwdb);
  if (!axes) return report(axes.error());
  if (const int fault = report(as_strict(plan->notes, request->strict)); fault != 0) return fault;
  report(axes->notes());
  const auto chosen = plan->chosen(*configurations);
  const std::string title = title_of(*plan, *configurations, chosen ? std::ssize(*chosen) : -1);
  if (flags.dry_run) return print(title);
  if (!flags.json && print(title) != 0) return 4;
  SweepJob job{flags, *plan, *axes, *hwdb, *configurations, chosen};
  if (const int fault = open_page(flags.page, job.page); fault != 0) return fault;
  if (auto opened = open_log(flags, job.log); !opened) return report(opened.error());
  return answer(job);
}

}  // namespace

Verb make_sweep(CLI::App& root) {
  auto flags = std::make_shared<SweepFlags>();
  CLI::App* app =
      root.add_subcommand("sweep", "Every configuration of a plan. Exit status 0 if any fits.");
  add_shared(*app, flags->shared, false);
  app->add_option("plan", flags->plan, "YAML or JSON, as Weights & Biases has them")
      ->group(kVerbGroup);
  app->add_option("--model", flags->shared.model, "instead of the plan's")
      ->type_name("MODEL")
      ->group(kVerbGroup);
  const auto add = [&](const char* name, bool& into, const char* help, const char* group) {
    app->add_flag(name, into, help)->group(group);
  };
  add("--memory-only", flags->memory_only, "no times", kVerbGroup);
  add("--dry-run", flags->dry_run, "how many configurations the plan has", kVerbGroup);
  add("--count-only", flags->count_only, "how many fit, nothing else", kOutputGroup);
  add("--json", flags->json, "a line for each configuration, then a summary", kOutputGroup);
  app->add_option("--out", flags->out, "a new file that the lines are added to as they come")
      ->type_name("FILE")
      ->group(kOutputGroup);
  app->add_option("--resume", flags->resume, "goes on with such a file, and adds to it")
      ->type_name("FILE")
      ->group(rarely(kOutputGroup));
  app->add_option("--seed", flags->seed, "of method: random [the plan's, else 0]")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->group(rarely(kOutputGroup));
  add_work(*app, flags->work);
  add_page(*app, flags->page);
  return {app, [flags] { return run_sweep(*flags); }};
}

}  // namespace plimsoll::cli
