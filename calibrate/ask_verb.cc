// ask: what cuDNN would choose on a GPU that is not there.
#include <fmt/format.h>
#include <unistd.h>
#include <chrono>
#include <memory>
#include <string>

#include "calibrate/ask.h"
#include "calibrate/verb.h"
#include "estimator/app/explain/convolutions.h"
#include "estimator/behaviour/library.h"
#include "estimator/estimator.h"
#include "graph/base/byte_source.h"
#include "graph/base/text.h"
#include "graph/base/try.h"

namespace plimsoll::calibrate {
namespace {

struct AskFlags {
  std::string gpu, model, problems, out, hwdb;
  std::string framework = "ideal", precision = "fp32", layout, mode = "train";
  std::vector<std::string> settings;
  int64_t batch = 0, image = 0;
  bool benchmark = false, quiet = false;
};

// A line of JSON each, as `plimsoll workspace` reads them.
Result<std::vector<ConvQuestion>> read_problems(const std::string& path, DType usual) {
  const auto text = TRY(read_text(path));
  std::vector<ConvQuestion> questions;
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::string_view line = take_part(rest, '\n');
    if (trimmed(line).empty()) continue;
    auto question = TRY(parse_conv_question(line, fmt::format("{}, line {}", path, number), usual));
    questions.push_back(question);
  }
  return questions;
}

Result<Request> request_of(const AskFlags& flags, const PrecisionRow& precision) {
  Request request;
  request.model = flags.model;
  request.devices = {flags.gpu};
  if (flags.batch > 0) request.batch = flags.batch;
  if (flags.image > 0) request.image = flags.image;
  request.framework = flags.framework;
  request.layout = layout_from_name(flags.layout);
  request.recipe.precision = &precision;
  if (flags.mode == "inference") request.recipe.mode = Mode::kInference;
  request.hwdb_directory = flags.hwdb;
  for (const std::string& setting : flags.settings) {
    const size_t at = setting.find('=');
    if (at == 0 || at == setting.npos)
      return error("E105", fmt::format("--set takes NAME=VALUE, found '{}'", setting));
    request.settings[setting.substr(0, at)] = setting.substr(at + 1);
  }
  return request;
}

Result<AskPlan> plan_of(const AskFlags& flags, const Hwdb& hwdb) {
  const PrecisionRow& precision = *find_precision(flags.precision);
  auto device = TRY(hwdb.device(flags.gpu));
  const auto framework = TRY(hwdb.framework(flags.framework));
  AskPlan plan;
  plan.device = std::move(device);
  plan.framework = framework.id;
  plan.policy = library_behaviour(framework, {}, precision.tf32).policy;
  if (flags.benchmark) {
    plan.policy.benchmark = true;
    plan.framework += " benchmark";
  }
  plan.out = flags.out;
  if (!flags.problems.empty()) {
    auto questions = TRY(read_problems(flags.problems, precision.storage));
    plan.questions = std::move(questions);
    return plan;
  }
  const auto request = TRY(request_of(flags, precision));
  auto questions = TRY(convolutions(request, hwdb));
  plan.questions = std::move(questions);
  return plan;
}

// On a terminal, a line that is written over.
void show_progress(size_t done, size_t all) {
  if (done % 16 != 0 && done != all) return;
  fmt::print(stderr, "\r{} of {} queries{}", done, all, done == all ? "\n" : "");
}

int run_ask(const AskFlags& flags) {
  const auto hwdb = Hwdb::open(flags.hwdb);
  if (!hwdb) return report(hwdb.error());
  if (flags.model.empty() == flags.problems.empty()) {
    return report(
        error("E108", "what to ask about? --model MODEL or --problems FILE, one of the two")
            .value());
  }
  const auto plan = plan_of(flags, *hwdb);
  if (!plan) return report(plan.error());
  const auto begin = std::chrono::steady_clock::now();
  const bool terminal = !flags.quiet && ::isatty(STDERR_FILENO) == 1;
  const auto done = ask(*plan, *hwdb, terminal ? show_progress : nullptr);
  if (!done) return report(done.error());
  if (flags.quiet) return 0;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  for (const LoadedLibrary& library : done->libraries)
    fmt::print("{} {}, {}\n", library.name, library.version, library.path);
  if (done->torn_bytes > 0)
    fmt::print("a torn last line of {} bytes was cut off {}\n", done->torn_bytes, plan->out);
  fmt::print("{}: {} queries in {:.1f} s", plan->device.id, done->asked, took.count());
  if (done->refused > 0) fmt::print(", {} without an answer", done->refused);
  if (done->known > 0) fmt::print("; {} were known", done->known);
  fmt::print(": {}\n", plan->out);
  return 0;
}

}  // namespace

Verb make_ask(const cli::FlagSet& root) {
  auto flags = std::make_shared<AskFlags>();
  cli::FlagSet app = root.add_subcommand(
      "ask",
      "  plimsoll-calibrate ask --gpu titan-xp --model builtin:resnet50 --batch 32 --out "
      "answers.jsonl\n  plimsoll-calibrate ask --gpu a100 --problems convolutions.jsonl "
      "--framework pytorch --out answers.jsonl\n\nAsks cuDNN what it would choose on a GPU; the "
      "GPU "
      "is not needed. Records engine, settings, workspace and alternatives of each convolution and "
      "pass. An existing file is continued.");
  app.add_option("--gpu", flags->gpu, "id ('plimsoll gpus') or device file")
      .type_name("ID")
      .required();
  app.add_option("--model", flags->model, "model.onnx, config.json, hf:NAME or builtin:NAME")
      .type_name("MODEL");
  app.add_option("--problems", flags->problems,
                 "convolutions, a line of JSON each, as 'plimsoll workspace' reads them")
      .type_name("FILE");
  app.add_option("--out", flags->out, "JSON lines; an existing file is continued")
      .type_name("FILE")
      .required();
  app.add_option("--batch", flags->batch, "samples per step").type_name("N").check(whole_from(1));
  app.add_option("--image", flags->image, "height and width of image inputs")
      .type_name("N")
      .check(whole_from(1));
  app.add_option("--set", flags->settings, "a parameter of a config or built-in")
      .type_name("NAME=VALUE")
      .allow_extra_args(false);
  std::vector<std::string> words;
  for (const PrecisionRow& row : precisions()) words.emplace_back(row.name);
  app.add_option("--precision", flags->precision,
                 "precision of the model, or of problems without dtype: fp32, amp-bf16, ...")
      .one_of(words)
      .type_name("NAME");
  app.add_option("--layout", flags->layout, "nchw or nhwc, of the model")
      .one_of({"nchw", "nhwc"})
      .type_name("NAME");
  app.add_option("--mode", flags->mode, "train or inference")
      .one_of({"train", "inference"})
      .type_name("NAME");
  app.add_option("--framework", flags->framework,
                 "whose choice: ideal is cuDNN's first plan; pytorch excludes TF32 if it is off "
                 "and has separate depthwise kernels")
      .type_name("NAME");
  app.add_flag("--cudnn-benchmark", flags->benchmark, "the framework uses the fastest plan");
  app.add_option("--hwdb", flags->hwdb,
                 "folder with files of GPUs, links and hosts; a file replaces the built-in file "
                 "with the same name")
      .type_name("FOLDER");
  app.add_flag("--quiet", flags->quiet, "print only errors");
  return {app, [flags] { return run_ask(*flags); }};
}

}  // namespace plimsoll::calibrate
