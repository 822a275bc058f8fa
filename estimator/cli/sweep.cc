#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "estimator/cli/command_line.h"
#include "estimator/cli/flag_groups.h"
#include "estimator/cli/idle_flags.h"
#include "estimator/cli/local_gpu.h"
#include "estimator/cli/model_name.h"
#include "estimator/cli/open_database.h"
#include "estimator/cli/output.h"
#include "estimator/cli/page_file.h"
#include "estimator/cli/read_request.h"
#include "estimator/cli/shared_flags.h"
#include "estimator/cli/sweep_axes.h"
#include "estimator/cli/verb.h"
#include "estimator/model/model_source.h"
#include "estimator/report/html/sweep_page.h"
#include "estimator/report/sweep.h"
#include "graph/base/byte_source.h"

namespace plimsoll::cli {
namespace {

struct SweepFlags {
  SharedFlags shared;
  PageFlags page;
  std::string plan;
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

Result<void> check_flags(const SharedFlags& flags) {
  constexpr std::string_view kExample = "plimsoll sweep plan.yaml, or --model builtin:resnet50";
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

int answer(const SweepFlags& flags, const SweepPlan& plan, const SweepAxes& axes, const Hwdb& hwdb,
           std::optional<OutputFile>& file) {
  const auto begun = std::chrono::steady_clock::now();
  const bool time = !flags.memory_only;
  Output out;
  SweepSummary summary;
  SweepBest best;
  SweepPage page(plan, time);
  SweepDips dips(axes.sizes());
  const auto swept =
      sweep(axes.variants(), axes.sizes(), hwdb, {.time = time}, [&](const SweepPoint& point) {
        dips.add(point);
        for (const SweptConfiguration& configuration : axes.at(point)) {
          add(configuration, point, summary);
          if (file || (!flags.json && !flags.count_only)) best.add(configuration, point);
          if (file) page.add(configuration, point);
          if (flags.json && !flags.count_only)
            out.add(to_json_line(plan, configuration, point, time));
        }
        return out.good();
      });
  if (!swept) {
    out.flush();
    return report(in_model(swept.error(), flags.shared.model));
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun;
  summary.seconds = spent.count();
  const int status = report(as_strict(in_model(*swept, flags.shared.model), flags.shared.strict));
  if (status != 0) return status;
  report(dips.told());
  if (file) {
    const int fault =
        write_page(*file, page.to_html(summary, best, flags.shared.model, command_line()));
    if (fault != 0) return fault;
  }
  out.add(flags.json ? to_json_line(summary) : to_text(summary));
  if (!flags.json && !flags.count_only) out.add(best.to_text(plan, time, page_of({})));
  return out.flush() ? (summary.fit > 0 ? 0 : 1) : 4;
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
  const auto plan = read_plan(flags.plan, request->limits);
  if (!plan) return report(plan.error());
  const auto configurations = plan->configurations(request->limits);
  if (!configurations) return report(configurations.error());
  if (flags.shared.model.empty()) flags.shared.model = model_beside(flags.plan, plan->model);
  if (auto good = check_flags(flags.shared); !good) return report(good.error());
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
  const std::string listed = axes_text(*plan);
  const std::string title =
      fmt::format("{} configuration{}{}{}\n", *configurations, *configurations == 1 ? "" : "s",
                  listed.empty() ? "" : ": ", listed);
  if (flags.dry_run) return print(title);
  if (!flags.json && print(title) != 0) return 4;
  std::optional<OutputFile> file;
  if (const int fault = open_page(flags.page, file); fault != 0) return fault;
  return answer(flags, *plan, *axes, *hwdb, file);
}

}  // namespace

Verb make_sweep(CLI::App& root) {
  auto flags = std::make_shared<SweepFlags>();
  CLI::App* app =
      root.add_subcommand("sweep", "Every configuration of a plan. Exit status 0 if any fits.");
  add_shared(*app, flags->shared, false);
  app->add_option("plan", flags->plan,
                  "YAML or JSON: model and parameters, as Weights & Biases has them")
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
  add_page(*app, flags->page);
  return {app, [flags] { return run_sweep(*flags); }};
}

}  // namespace plimsoll::cli
