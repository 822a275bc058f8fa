// run and replay: what is predicted of a model's kernels, against the card that is here or a
// recorded one.
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>

#include "calibrate/card_child.h"
#include "calibrate/card_recording.h"
#include "calibrate/cuda_card.h"
#include "calibrate/kernel_run.h"
#include "calibrate/run_report.h"
#include "calibrate/suite.h"
#include "calibrate/verb.h"
#include "estimator/app/cli/command_line.h"
#include "estimator/app/cli/defaults.h"
#include "estimator/app/cli/interrupt.h"
#include "estimator/app/cli/local_gpu.h"
#include "estimator/app/cli/messages.h"
#include "estimator/app/cli/open_database.h"
#include "estimator/app/cli/page_file.h"
#include "estimator/app/cli/progress.h"
#include "estimator/app/cli/read_request.h"
#include "estimator/app/cli/shared_flags.h"
#include "estimator/app/cli/tolerances.h"
#include "graph/base/distinct_files.h"
#include "graph/base/try.h"

namespace plimsoll::calibrate {
namespace {

constexpr int64_t kUsualShare = 2;  // half of what is free may be used

struct RunFlags {
  cli::SharedFlags shared;
  std::string suite, out, record, replay;
  std::vector<std::string> tolerances;
  cli::PageFlags page;
  int gpu_index = 0;
  int64_t offers = 0;  // 0: all
  bool resume = false, json = false, quiet = false;
};

Result<std::unique_ptr<Card>> open_card(const RunFlags& flags, std::optional<int64_t> memory) {
  if (!flags.replay.empty()) return RecordedCard::open(flags.replay);
  CudaCardOptions options{.index = flags.gpu_index};
  if (memory) options.memory = *memory;
  auto card = CardChild::start([=] { return open_cuda_card(options); });
  if (!card || flags.record.empty()) return card;
  return RecordingCard::make(std::move(*card), flags.record);
}

// The database with the card in it, as it is or by the id that the user gives, named in the
// request.
Result<Hwdb> find_device(Request& request, const CardFacts& facts) {
  auto hwdb = Hwdb::open(request.hwdb_directory);
  if (!hwdb || !request.devices.empty()) return hwdb;
  const std::string capability =
      fmt::format("{}.{}", facts.compute_capability.major, facts.compute_capability.minor);
  auto device = TRY(cli::local_device(*hwdb,
                                      {.name = facts.name,
                                       .driver = facts.driver,
                                       .total_bytes = facts.memory_bytes,
                                       .free_bytes = facts.free_bytes,
                                       .compute_capability = capability},
                                      ""));
  report(device.warnings);
  hwdb->bring("local", std::move(device));
  request.devices = {"local"};
  return hwdb;
}

Result<PredictedStep> predict(const RunFlags& flags, Request& request, const Hwdb& hwdb) {
  if (!flags.suite.empty()) return suite_kernels(flags.suite, request, hwdb);
  auto step = predicted_kernels(request, hwdb);
  if (!step) return tl::make_unexpected(cli::in_model(step.error(), request.model));
  return step;
}

KernelRunPlan plan_of(const RunFlags& flags, const PredictedStep& step, const CardFacts& facts,
                      std::optional<int64_t> memory) {
  KernelRunPlan plan;
  for (const PredictedKernel& kernel : step.kernels) {
    PlannedKernel& planned = plan.kernels.emplace_back(PlannedKernel{kernel.kernel});
    if (kernel.algorithm == "depthwise")
      planned.skipped = fmt::format("{} has its built-in kernel for it", step.framework);
  }
  plan.rules.benchmark = step.policy.benchmark;
  if (step.policy.limit) plan.rules.workspace_limit = *step.policy.limit;
  plan.rules.memory = memory.value_or(facts.free_bytes / kUsualShare);
  if (flags.offers > 0) plan.rules.most_offers = static_cast<size_t>(flags.offers);
  plan.figures = !flags.suite.empty();
  plan.out = flags.out;
  plan.resume = flags.resume;
  return plan;
}

Result<void> check(const RunFlags& flags) {
  if (flags.shared.model.empty() == flags.suite.empty()) {
    return error("E108", "what to run? --model MODEL or --suite quick|standard, one of the two", {},
                 "plimsoll-calibrate run --model builtin:resnet50 --batch 32");
  }
  if (!flags.replay.empty() && !flags.record.empty())
    return error("E108", "--record has no use with replay: the recording would be a copy");
  if (flags.resume && flags.out.empty())
    return error("E108", "--resume continues the file that --out names");
  std::vector<NamedFile> read = cli::files_named_by(flags.shared);
  read.push_back({"replay", flags.replay});
  return distinct_files({{"out", flags.out}, {"record", flags.record}, {"html", flags.page.path}},
                        read);
}

int run(const RunFlags& flags) {
  if (auto sound = check(flags); !sound) return report(sound.error());
  auto request = cli::request_with_defaults(flags.shared, {"gpu"});  // the card is the one here
  if (!request) return report(request.error());
  if (!request->defaults.empty()) report({note("N523", "defaults: " + request->defaults)});
  auto tolerances = cli::parse_tolerances(flags.tolerances);
  if (!tolerances) return report(tolerances.error());
  std::optional<cli::OutputFile> page;
  if (const int fault = cli::open_page(flags.page, page); fault != 0) return fault;
  const std::optional<int64_t> memory = request->memory_bytes;
  request->memory_bytes.reset();  // here it bounds what is timed, not what is predicted
  auto card = open_card(flags, memory);
  if (!card) return report(card.error());
  const CardFacts& facts = (*card)->facts();
  auto hwdb = find_device(*request, facts);
  if (!hwdb) return report(hwdb.error());
  const auto device = hwdb->device(request->devices.front());
  if (!device) return report(device.error());
  if (!request->cudnn && !facts.version_of("cuDNN").empty())
    request->cudnn = facts.version_of("cuDNN");
  const auto step = predict(flags, *request, *hwdb);
  if (!step) return report(step.error());
  KernelRunPlan plan = plan_of(flags, *step, facts, memory);
  plan.device = device->id;
  const cli::Interrupts listening;
  KernelRunHooks hooks{.stop = cli::interrupted};
  std::optional<cli::Progress> progress;
  if (!flags.quiet) {
    hooks.progress = [&](size_t timed, size_t all, double seconds_left) {
      if (!progress)
        progress.emplace("timed", static_cast<int64_t>(all), cli::Progress::When::kAlways);
      progress->at(static_cast<int64_t>(timed), seconds_left);
    };
  }
  auto done = run_kernels(**card, plan, hooks);
  progress.reset();
  if (!done) return report(done.error());
  RunReport result = report_of(step->kernels, std::move(done->records), *tolerances);
  result.device = device->id;
  result.model = request->model;
  result.batch = step->batch;
  result.facts = facts;
  result.figures = std::move(done->figures);
  result.stopped = done->stopped;
  const int printed = cli::print(flags.json ? json_of(result) : text_of(result));
  if (page) {
    const ValidationNotes notes{.verb = "run", .notes = {.request = *request}};
    const std::string html =
        result.page.to_html(result.summary, result.gate, notes, cli::command_line());
    if (const int fault = cli::write_page(*page, html); fault != 0) return fault;
  }
  if (done->torn_bytes > 0)
    fmt::print(stderr, "a torn last line of {} bytes was cut off {}\n", done->torn_bytes, plan.out);
  if (done->stopped) {
    fmt::print(stderr, "interrupted{}\n",
               plan.out.empty() ? "" : ": --resume goes on with " + plan.out);
    return cli::kInterrupted;
  }
  return printed != 0 ? printed : result.gate.passed ? 0 : 1;
}

Verb make(const cli::FlagSet& root, const char* name, const std::string& help,
          const std::shared_ptr<RunFlags>& flags) {
  cli::FlagSet app = root.add_subcommand(name, help);
  app.add_option("--model", flags->shared.model, "model whose kernels are timed")
      .type_name("MODEL");
  app.add_option("--suite", flags->suite, "kernels of many networks: quick or standard")
      .one_of(suite_names())
      .type_name("NAME");
  cli::add_shared(app, flags->shared, false);
  app.add_option("--out", flags->out,
                 "records, a line of JSON each: measured runs for 'plimsoll validate' and 'fit'")
      .type_name("FILE");
  app.add_flag("--resume", flags->resume, "continue the file of --out");
  app.add_option("--offers", flags->offers,
                 "how many of the library's plans are timed for each kernel [all]")
      .type_name("N")
      .check(whole_from(1));
  app.add_option("--tolerance", flags->tolerances,
                 "time=15% or workspace=1MiB: exit status 1 if the error of a kernel is larger")
      .type_name("NAME=LIMIT")
      .allow_extra_args(false);
  app.add_flag("--json", flags->json, "the table and its sums as JSON");
  cli::add_page(app, flags->page);
  app.add_flag("--quiet", flags->quiet, "no progress");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace

Verb make_run(const cli::FlagSet& root) {
  auto flags = std::make_shared<RunFlags>();
  Verb verb = make(
      root, "run",
      "  plimsoll-calibrate run --model builtin:resnet50 --batch 32 --tolerance time=15%\n"
      "  plimsoll-calibrate run --suite quick --out kernels.jsonl\n"
      "  plimsoll-calibrate fit kernels.jsonl --out machine.json\n\n"
      "Runs the kernels of a model's step on the GPU of this machine, one by one, and compares\n"
      "their times and workspaces with predictions. --mem limits the memory used.",
      flags);
  verb.app.add_option("--gpu-index", flags->gpu_index, "number of the GPU, as CUDA counts them [0]")
      .type_name("N")
      .check(whole_from(0));
  verb.app
      .add_option("--record", flags->record,
                  "save everything that the driver and libraries return in this file")
      .type_name("FILE");
  verb.app.add_option("--replay", flags->replay, "instead of a GPU: a file that --record made")
      .type_name("FILE");
  return verb;
}

Verb make_replay(const cli::FlagSet& root) {
  auto flags = std::make_shared<RunFlags>();
  Verb verb = make(root, "replay",
                   "  plimsoll-calibrate replay h100.jsonl --model builtin:vgg16 --batch 32\n\n"
                   "As run, with a recording (run --record FILE) in place of a GPU.",
                   flags);
  verb.app.add_option("recording", flags->replay, "a file that run --record made").required();
  return verb;
}

}  // namespace plimsoll::calibrate
