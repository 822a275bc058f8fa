#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <tuple>

#include "estimator/app/cli/defaults.h"
#include "estimator/app/cli/flag_groups.h"
#include "estimator/app/cli/interrupt.h"
#include "estimator/app/cli/local_gpu.h"
#include "estimator/app/cli/model_name.h"
#include "estimator/app/cli/open_database.h"
#include "estimator/app/cli/prices.h"
#include "estimator/app/cli/read_request.h"
#include "estimator/app/cli/sweep_answer.h"
#include "estimator/app/cli/sweep_trainer.h"
#include "estimator/app/cli/verb.h"
#include "estimator/app/sweep/read_sweep_plan.h"
#include "estimator/model/model_source.h"
#include "estimator/settings/ineffective_settings.h"
#include "estimator/settings/json_texts.h"
#include "estimator/settings/values.h"
#include "graph/base/byte_source.h"
#include "graph/base/cancel.h"
#include "graph/base/distinct_files.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"

namespace plimsoll::cli {
namespace {

constexpr int64_t kLargestSeed = std::numeric_limits<int64_t>::max();

Result<SweepPlan> read_plan(const std::string& path, const Limits& limits) {
  const auto text = TRY(read_text(path, limits));
  return read_sweep_plan(text, path, limits);
}

// "2/8" is the second of eight parts: 1 of them, from 0. The whole is one part.
Result<std::pair<size_t, size_t>> shard_of(const std::string& text) {
  if (text.empty()) return std::pair<size_t, size_t>(0, 1);
  constexpr int64_t kMost = 1'000'000;
  const size_t slash = std::min(text.find('/'), text.size());
  const auto parts =
      TRY(parse_count("--shard K/N", text.substr(std::min(slash + 1, text.size())), 1, kMost));
  const auto part = TRY(parse_count("--shard K/N", text.substr(0, slash), 1, parts));
  return std::pair(static_cast<size_t>(part - 1), static_cast<size_t>(parts));
}

Result<void> check_flags(const SweepFlags& sweep) {
  constexpr std::string_view kExample = "plimsoll sweep plan.yaml, or --model builtin:resnet50";
  if (auto good = check_work(sweep.work); !good) return good;
  if (auto good = check_emit(sweep.emit); !good) return good;
  TRY(shard_of(sweep.shard));
  const SharedFlags& flags = sweep.shared;
  if (flags.model.empty())
    return error("E108",
                 fmt::format("which model? neither the plan nor {} names one", setting("model")),
                 {}, std::string(kExample));
  if (flags.model == "-")
    return error("E112", "a sweep reads its model more than once: name a file, not -");
  if (flags.values("gpu").size() > 1)
    return error("E114", setting("gpu") + " is given more than once", {},
                 "in the plan: gpu: [ID, ID]");
  if (flags.has("lengths") || flags.has("longest")) {
    return error(
        "E112", fmt::format("{} and {} are not for sweeps", setting("lengths"), setting("longest")),
        {}, "name the dimension as a parameter of the plan");
  }
  return {};
}

// The machine's own card, where plan or flags name it, or no GPU at all.
Result<void> find_local(const SweepPlan& plan, SharedFlags& flags, Hwdb& hwdb) {
  const auto swept = std::ranges::find(plan.parameters, "gpu", &SweepParameter::name);
  std::vector<std::string> gpus;
  if (swept == plan.parameters.end()) {
    gpus = flags.values("gpu");
    auto found = find_local_gpu(hwdb, gpus, "in the plan, or with " + setting("gpu", "ID"));
    flags.set("gpu", std::move(gpus));
    return found;
  }
  for (const JsonValue& value : swept->values) gpus.push_back(text_of(value));
  return gpus.empty() ? Result<void>() : find_local_gpu(hwdb, gpus, "");
}

SweepOptions options_of(const SweepJob& job) {
  SweepOptions options{.time = !job.flags.memory_only, .threads = threads_of(job.flags.work)};
  std::tie(options.part, options.parts) = *shard_of(job.flags.shard);
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
  std::optional<CancelWhen> in_whole_answers;  // of which the log holds those that are done
  if (job.log) {
    listening.emplace();
    in_whole_answers.emplace(nullptr);
  }
  std::optional<SweepAnswer> answer(std::in_place, job);
  const auto swept = sweep(job.axes.variants(), job.axes.sizes(), job.hwdb, options_of(job),
                           [&](const SweepPoint& point) { return answer->add(point); });
  const std::string model = job.model();
  if (!swept || answer->fault() || interrupted()) answer->flush();
  if (!swept) return report(in_model(swept.error(), model));
  if (answer->fault()) return report(*answer->fault());
  if (interrupted()) {
    if (job.log) {
      tell(fmt::format("interrupted: {} has {} of {} configurations; --resume {} continues\n",
                       job.log->path(), job.log->records(), job.asked(), job.log->path()));
    }
    return kInterrupted;
  }
  Diagnostics warnings = as_strict(in_model(*swept, model), job.flags.shared.has("strict"));
  if (const int status = report(warnings); status != 0) return status;
  for (const Diagnostics* before : {&job.axes.notes(), &job.plan.notes})
    warnings.insert(warnings.begin(), before->begin(), before->end());
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun;
  return answer->finish(spent.count(), std::move(warnings));
}

// Flags that may move an answer.
SweepOrigin::Flags words_of(const SweepFlags& sweep) {
  SweepOrigin::Flags words;
  const SharedFlags& flags = sweep.shared;
  const auto is_rule = [](const SettingRow& row) {
    return row.value.type == SettingValue::Type::kGlob;  // of those the last match holds
  };
  for (const SettingRow& row : settings()) {
    if (is_rule(row)) continue;
    for (const std::string& text : flags.values(row.name)) words.emplace_back(row.name, text);
  }
  for (const auto& [row, text, by_default] : flags.all()) {
    if (is_rule(*row)) words.emplace_back(row->name, text);
  }
  if (!sweep.seed.empty()) words.emplace_back("seed", sweep.seed);
  if (sweep.memory_only) words.emplace_back("memory-only", "");
  return words;
}

Result<void> open_log(const SweepFlags& flags, const std::vector<std::string>& models,
                      const Hwdb& hwdb, std::optional<SweepLog>& log) {
  if (!flags.out.empty() && !flags.resume.empty())
    return error("E114", fmt::format("{} starts a file and {} continues one: give one of them",
                                     setting("out"), setting("resume")));
  if (flags.out.empty() && flags.resume.empty()) return {};
  const auto origin = TRY(SweepOrigin::make(flags.plan, models, words_of(flags), hwdb));
  auto opened = TRY(flags.resume.empty() ? SweepLog::start(flags.out, origin)
                                         : SweepLog::resume(flags.resume, origin));
  log.emplace(std::move(opened));
  return {};
}

// "48 configurations: 4 batch x 12 gpu", or of how many `chosen` are.
std::string title_of(const SweepPlan& plan, int64_t configurations, int64_t chosen) {
  const std::string listed = axes_text(plan);
  std::string count = std::to_string(configurations);
  if (chosen >= 0) {
    const bool capped = plan.run_cap && chosen == *plan.run_cap;
    const std::string how = capped && plan.random ? fmt::format("random with seed {}", plan.seed)
                            : capped              ? "the first ones"
                                                  : "within the constraints";
    count = fmt::format("{}, {}, of {}", chosen, how, configurations);
  }
  return fmt::format("{} configuration{}{}{}\n", count, configurations == 1 ? "" : "s",
                     listed.empty() ? "" : ": ", listed);
}

// Defaults of one's own stand where neither the plan nor a flag says otherwise.
Result<void> take_defaults(const SweepPlan& plan, SharedFlags& flags, Request& request,
                           std::vector<NamedFile>& read) {
  std::set<std::string, std::less<>> planned;
  for (const SweepParameter& parameter : plan.parameters) planned.insert(flag_of(parameter.name));
  auto all = TRY(with_defaults(flags, planned));
  auto with = TRY(to_request(all.flags));
  request = std::move(with);
  request.given = flags.names();
  request.by_default = all.names;
  request.defaults = all.used;
  if (!all.used.empty()) report({note("N523", "defaults: " + all.used)});
  flags = std::move(all.flags);
  read = std::move(all.read);
  return {};
}

// The models of a plan, or the one that flags name.
Result<std::vector<SweptModel>> read_models(const SweepFlags& flags, const SweepPlan& plan,
                                            Request request) {
  std::vector<std::string> names = {flags.shared.model};
  const auto several = std::ranges::find(plan.parameters, "model", &SweepParameter::name);
  if (several != plan.parameters.end()) {
    names.clear();
    for (const JsonValue& value : several->values)
      names.push_back(model_beside(flags.plan, text_of(value)));
  }
  std::vector<SweptModel> models;
  for (const std::string& name : names) {
    request.model = name;
    const auto model = load_model_inputs(request);
    if (!model) return tl::make_unexpected(in_model(model.error(), name));
    models.push_back({name, names_of(*model)});
  }
  return models;
}

// The model to start with: --model's, the plan's, or the first of several.
Result<void> choose_model(SweepFlags& flags, const SweepPlan& plan) {
  const auto several = std::ranges::find(plan.parameters, "model", &SweepParameter::name);
  const bool listed = several != plan.parameters.end();
  if (listed && several->values.empty()) {
    return error("E311", "model is a distribution; sweep needs a list of values", several->place);
  }
  if (listed && !(flags.shared.model.empty() && plan.model.empty()))
    return error("E114", "the plan's models and another one exclude each other", several->place);
  if (flags.shared.model.empty())
    flags.shared.model =
        model_beside(flags.plan, listed ? text_of(several->values.front()) : plan.model);
  return {};
}

// What no sweep can do as asked.
Result<void> check_plan(const SweepFlags& flags, const SweepPlan& plan) {
  if (!flags.seed.empty() && !(plan.random && plan.run_cap))
    return error("E112",
                 setting("seed") + " is only for plans with 'method: random' and 'run_cap'");
  const bool of_time = plan.objective && plan.objective->figure != Objective::Figure::kDeviceBytes;
  if (!flags.memory_only || !of_time) return {};
  return error("E114", fmt::format("{}, and the plan's objective is {}", setting("memory-only"),
                                   name(plan.objective->figure)));
}

// Of all configurations.
std::vector<std::string> devices_of(const SweepAxes& axes) {
  std::set<std::string> devices;
  for (const Request& variant : axes.variants()) {
    devices.insert(variant.devices.begin(), variant.devices.end());
  }
  return {devices.begin(), devices.end()};
}

// Files of a training program are read when the plan is, which wins over them: take_defaults().
SharedFlags without_trainer(SharedFlags flags) {
  flags.erase("trainer");
  return flags;
}

int run_sweep(const SweepFlags& given) {
  SweepFlags flags = given;
  const auto shaping = check_output(flags.output);
  if (!shaping) return report(shaping.error());
  report(*shaping);
  flags.page.others = !flags.emit.forms.empty();
  auto request = to_request(without_trainer(flags.shared));
  if (!request) return report(request.error());
  if (const int fault = report(as_strict(ineffective_settings("sweep", *request), request->strict));
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
  if (!flags.seed.empty()) {
    const auto seed = parse_count(setting("seed"), flags.seed, 0, kLargestSeed);
    if (!seed) return report(seed.error());
    plan->seed = *seed;
  }
  if (auto good = check_plan(flags, *plan); !good) return report(good.error());
  if (auto done = take_trainer(*plan, flags.plan, flags.shared); !done) return report(done.error());
  std::vector<NamedFile> read;
  if (auto merged = take_defaults(*plan, flags.shared, *request, read); !merged)
    return report(merged.error());
  const auto configurations = plan->configurations(request->limits);
  if (!configurations) return report(configurations.error());
  if (auto chosen = choose_model(flags, *plan); !chosen) return report(chosen.error());
  if (auto good = check_flags(flags); !good) return report(good.error());
  auto hwdb = Hwdb::open(request->hwdb_directory);
  if (!hwdb) return report(hwdb.error());
  report(hwdb->own_faults());
  if (auto found = find_local(*plan, flags.shared, *hwdb); !found) return report(found.error());
  auto models = read_models(flags, *plan, *request);
  if (!models) return report(models.error());
  const auto axes = SweepAxes::make(*plan, flags.shared, *models, *hwdb);
  if (!axes) return report(axes.error());
  if (const int fault = report(as_strict(plan->notes, request->strict)); fault != 0) return fault;
  report(axes->notes());
  const auto chosen = plan->chosen(*configurations);
  if (chosen && chosen->empty())
    return report(error("E323", "no configuration satisfies the constraints").value());
  const std::string title = title_of(*plan, *configurations, chosen ? std::ssize(*chosen) : -1);
  if (flags.dry_run) return print(title);
  const bool talks = !flags.output.json && !flags.output.table();
  if (talks && print(title) != 0) return 4;
  SweepJob job{flags, *plan, *axes, *hwdb, *configurations, *request, chosen};
  auto prices = parse_prices(flags.prices, devices_of(*axes), *hwdb);
  if (!prices) return report(prices.error());
  job.prices = std::move(*prices);
  const std::string& log = flags.out.empty() ? flags.resume : flags.out;
  read.push_back({"plan", flags.plan});
  for (const auto& model : *models) read.push_back({"model", model.name});
  if (auto distinct = distinct_files(
          {{flags.out.empty() ? "resume" : "out", log}, {"html", flags.page.path}}, read);
      !distinct)
    return report(distinct.error());
  if (const int fault = open_page(flags.page, job.page); fault != 0) return fault;
  if (!flags.emit.forms.empty()) {
    job.emitter.emplace(*plan, flags.emit, flags.plan, request->gpu_count, flags.page.force);
    read.push_back({"html", flags.page.path});
    read.push_back({"out", log});
    job.emitter->keep_off(std::move(read));
    if (auto opened = job.emitter->open(); !opened) return report(opened.error());
  }
  std::vector<std::string> names;
  for (const auto& model : *models) names.push_back(model.name);
  if (auto opened = open_log(flags, names, *hwdb, job.log); !opened) return report(opened.error());
  return answer(job);
}

}  // namespace

Verb make_sweep(const FlagSet& root) {
  auto flags = std::make_shared<SweepFlags>();
  FlagSet app = root.add_subcommand(
      "sweep", "Estimates every configuration of a plan. Exit status 0 if any fits.");
  add_shared(app, flags->shared, false);
  app.add_option("plan", flags->plan, "plan of W&B, Optuna, Hydra or Plimsoll (YAML or JSON)")
      .group(kVerbGroup);
  app.add_option("--model", flags->shared.model, "the model, in place of the plan's")
      .type_name("MODEL")
      .group(kVerbGroup);
  const auto add = [&](const char* name, bool& into, const char* help, const std::string& group) {
    app.add_flag(name, into, help).group(group);
  };
  add("--memory-only", flags->memory_only, "memory only, no times", rarely(kVerbGroup));
  add("--dry-run", flags->dry_run, "print the number of configurations and stop",
      rarely(kOutputGroup));
  add("--count-only", flags->count_only, "print only how many fit", rarely(kOutputGroup));
  app.add_option("--price", flags->prices, "price of an hour of GPU ID; shows what the sweep costs")
      .type_name("ID=PRICE")
      .group(rarely(kVerbGroup));
  add_output(app, flags->output, "JSON Lines: one for each configuration, then a summary",
             "the best configurations");
  app.add_option("--out", flags->out, "write a JSON line per configuration to a new file")
      .type_name("FILE")
      .group(kOutputGroup);
  app.add_option("--resume", flags->resume, "continue the file of an earlier --out")
      .type_name("FILE")
      .group(rarely(kOutputGroup));
  app.add_option("--seed", flags->seed, "seed for method: random [the plan's, else 0]")
      .type_name("N")
      .group(rarely(kOutputGroup));
  app.add_option("--shard", flags->shard, "run part K of N [all]")
      .type_name("K/N")
      .group(rarely(kOutputGroup));
  add_work(app, flags->work);
  add_emit(app, flags->emit);
  add_page(app, flags->page);
  return {app, [flags] { return run_sweep(*flags); }};
}

}  // namespace plimsoll::cli
