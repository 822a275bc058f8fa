// The plimsoll-calibrate command.
#include <fmt/format.h>
#include <exception>

#include "calibrate/verb.h"
#include "estimator/app/cli/arguments.h"
#include "estimator/app/cli/command_line.h"
#include "estimator/app/cli/completion.h"
#include "estimator/app/cli/help.h"
#include "estimator/app/cli/messages.h"
#include "estimator/app/cli/output_file.h"
#include "estimator/app/report/text.h"
#include "estimator/app/report/version.h"

namespace plimsoll::calibrate {
namespace {

constexpr const char* kExamples =
    "  plimsoll-calibrate ask --gpu titan-xp --model builtin:resnet50 --batch 32 --out "
    "answers.jsonl\n"
    "  plimsoll-calibrate run --model builtin:resnet50 --batch 32\n"
    "  plimsoll-calibrate run --suite quick --out kernels.jsonl\n"
    "  plimsoll-calibrate fit kernels.jsonl --out machine.json\n"
    "  plimsoll-calibrate replay h100.jsonl --model builtin:vgg16 --batch 32\n\n"
    "'run' times the kernels of a model on this machine's GPU. 'fit' makes a machine file of them\n"
    "(plimsoll --machine FILE), or the kernel models that come with Plimsoll. 'ask' asks a real\n"
    "cuDNN what it would choose on a GPU; the GPU is not needed. Libraries are loaded when\n"
    "needed: from PLIMSOLL_CUDNN, from the nvidia packages of python3, or from the path of the\n"
    "dynamic linker.";

}  // namespace

int report(const Diagnostics& diagnostics) {
  for (const Diagnostic& d : diagnostics) {
    fmt::print(stderr, "{}{}", d.place.file.empty() ? "plimsoll-calibrate: " : "", to_text(d));
  }
  return exit_status(diagnostics);
}

int write_file(const std::string& path, const std::string& bytes) {
  auto file = cli::OutputFile::open(path, true);  // made again, whole or not at all
  if (!file) return report(file.error());
  const auto done = file->write(bytes);
  return done ? 0 : report(done.error());
}

std::function<std::string(const std::string&)> whole_from(int least) {
  return [least](const std::string& text) { return cli::why_not_whole(text, least); };
}

namespace {

int run(int argc, char** argv) {
  const cli::Program app(kExamples);
  app.set_help_all_flag("--help-all", "show all options");
  app.require_subcommand(1, 1);
  app.set_version_flag("--version",
                       fmt::format("plimsoll-calibrate {}, commit {}", kVersion, commit()));
  const Verb verbs[] = {make_ask(app), make_run(app), make_replay(app), make_fit(app),
                        make_tables(app)};
  if (const auto begun = cli::asked_words({argv + 1, argv + argc}))
    return cli::print_words(cli::completions(app, *begun));
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  cli::remember_command("plimsoll-calibrate", arguments);
  for (const Verb& verb : verbs) {
    if (arguments.empty() || arguments.front() != verb.app.name()) continue;
    if (auto good = cli::check_arguments(verb.app, arguments); !good) return report(good.error());
  }
  const cli::Reading reading = app.read(arguments);
  switch (reading.kind) {
    case cli::Reading::Kind::kRun:
      break;
    case cli::Reading::Kind::kHelp:
    case cli::Reading::Kind::kAllHelp:
      return cli::print(
          cli::help_of(app.asked(), {}, reading.kind == cli::Reading::Kind::kAllHelp, {}));
    case cli::Reading::Kind::kVersion:
      return cli::print(reading.text + "\n");
    case cli::Reading::Kind::kFault:
      constexpr int kUsage = 2;
      fmt::print(stderr, "{}\nRun with --help for more information.\n", reading.text);
      return kUsage;
  }
  for (const Verb& verb : verbs) {
    if (verb.app.parsed()) return verb.run();
  }
  return 0;
}

}  // namespace
}  // namespace plimsoll::calibrate

int main(int argc, char** argv) {
  try {
    return plimsoll::calibrate::run(argc, argv);
  } catch (const std::exception& fault) {
    fmt::print(stderr, "plimsoll-calibrate: this is a bug of ours: {}\n", fault.what());
    return 70;
  }
}
