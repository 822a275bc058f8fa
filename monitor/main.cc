// plimsoll-monitor: watches a training run beside what was predicted for it.
#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "calibrate/nvml.h"
#include "estimator/answer/on_host.h"
#include "estimator/app/cli/arguments.h"
#include "estimator/app/cli/command_line.h"
#include "estimator/app/cli/completion.h"
#include "estimator/app/cli/defaults.h"
#include "estimator/app/cli/help.h"
#include "estimator/app/cli/messages.h"
#include "estimator/app/cli/open_database.h"
#include "estimator/app/cli/output_file.h"
#include "estimator/app/cli/page_file.h"
#include "estimator/app/cli/read_request.h"
#include "estimator/app/cli/shared_flags.h"
#include "estimator/app/report/version.h"
#include "estimator/estimator.h"
#include "estimator/settings/records.h"
#include "estimator/settings/values.h"
#include "graph/base/distinct_files.h"
#include "graph/base/escape.h"
#include "graph/base/try.h"
#include "monitor/attribution.h"
#include "monitor/duration.h"
#include "monitor/gpu_recording.h"
#include "monitor/live_view.h"
#include "monitor/measured_record.h"
#include "monitor/page.h"
#include "monitor/run_files.h"
#include "monitor/text.h"

namespace plimsoll::monitor {
namespace {

using cli::report;

constexpr const char* kExamples =
    "  plimsoll-monitor 4711\n"
    "  plimsoll-monitor --interval 20ms --out run.jsonl -- python3 train.py\n"
    "  plimsoll-monitor --model builtin:resnet50 --batch 32 --gpu local --run run.json -- python3 "
    "train.py\n"
    "  plimsoll validate run.json\n"
    "  plimsoll-monitor --html run.html -- python3 train.py\n\n"
    "Watches a process and its descendants: memory, CPU, faults and I/O of the host, and memory,\n"
    "load, PCIe, power and clocks of NVIDIA GPUs, if there are any. It only reads and sends no\n"
    "signals. With PID it ends with the process, exit status 0; with a command it ends with the\n"
    "command and has its exit status. ^C ends it with the summary. With --model and the options "
    "of\n"
    "'plimsoll estimate' it shows the predicted range next to the live figures.\n";

constexpr int64_t kLeastInterval = 1'000'000, kMostInterval = 3'600'000'000'000;
constexpr int64_t kMostPid = int64_t{1} << 22;      // PID_MAX_LIMIT of the kernel
constexpr int kNotFound = 127, kNotRunnable = 126;  // as a shell says it

struct Flags {
  cli::SharedFlags shared;
  std::string pid, interval = "100ms", replay, library = "libnvidia-ml.so.1", measured, page;
  RunFileNames files;
  bool json = false, quiet = false;
  std::vector<std::string> command;
};

void declare(const cli::FlagSet& app, Flags& flags) {
  const auto text = [&](const char* name, std::string& into, const char* help) {
    app.add_option(name, into, help).allow_extra_args(false).type_name("");
  };
  text("pid", flags.pid, "the process to watch; or a command after --");
  text("--interval", flags.interval, "time between samples, e.g. 20ms [100ms]");
  text("--out", flags.files.lines, "add each sample to this file, as JSON lines");
  text("--csv", flags.files.csv, "write the samples as CSV");
  text("--trace", flags.files.trace, "write a Chrome trace: counters and phases");
  text("--run", flags.measured, "write a measured run for 'plimsoll validate'; needs --model");
  text("--html", flags.page, "write an HTML report: peaks, charts over time, phases, tables");
  app.add_flag("--force", flags.files.force, "overwrite files; --out is appended to");
  app.add_flag("--json", flags.json, "print only the summary, at the end, as one JSON object");
  app.add_flag("--quiet", flags.quiet, "only the summary, no live output");
  text("--replay", flags.replay,
       "replay the GPU samples of a file of --out, in place of the driver");
  text("--nvml", flags.library,
       "path of the driver's library, if the dynamic linker does not find it");
  text("--model", flags.shared.model, "what the run trains: the model of 'plimsoll estimate'");
  cli::add_shared(app, flags.shared, false);
}

// The run as described, and what is predicted for it.
struct Prediction {
  Request request;
  Band band;
};

Result<Prediction> predict(const cli::SharedFlags& given) {
  const auto all = TRY(cli::with_defaults(given));
  const cli::SharedFlags& flags = all.flags;
  auto request = TRY(cli::to_request(flags));
  request.given = given.names();
  request.defaults = all.used;
  auto hwdb = TRY(cli::open_database(request, "estimate"));
  if (is_host_device(request.devices.front())) return of_memory_alone();
  auto estimated = estimate(request, hwdb);
  if (!estimated) return tl::make_unexpected(cli::in_model(estimated.error(), request.model));
  const Diagnostics said =
      cli::as_strict(cli::in_model(estimated->diagnostics, request.model), request.strict);
  if (exit_status(said) != 0) return tl::make_unexpected(said);
  report(said);
  return Prediction{.request = request, .band = band_of(*estimated)};
}

// Signals that end the watch, as a descriptor.
int take_signals(sigset_t& before) {
  sigset_t ours;
  ::sigemptyset(&ours);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&ours, signal);
  ::sigprocmask(SIG_BLOCK, &ours, &before);
  return ::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
}

std::string command_line(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_quoted(word);
  return text;
}

// What is watched.
struct Watched {
  pid_t pid = 0;
  std::string name;
  std::optional<Command> command;
};

Result<Watched> find_watched(const Flags& flags, const sigset_t& signals) {
  if (!flags.command.empty()) {
    auto command = TRY(Command::start(flags.command, signals));
    return Watched{command.pid(), command_line(flags.command), command};
  }
  const auto pid = TRY(parse_count("PID", flags.pid, 1, kMostPid));
  const auto reading = ProcFolder().read(static_cast<pid_t>(pid));
  if (!reading || reading->ended)
    return error("E715", fmt::format("there is no process {}", pid), {},
                 "'pgrep -f train.py' prints the PID of a program");
  return Watched{reading->pid, reading->name, std::nullopt};
}

Result<std::unique_ptr<GpuSource>> find_gpus(const Flags& flags) {
  return flags.replay.empty() ? open_nvml(flags.library) : open_gpu_recording(flags.replay);
}

std::string without_gpus(const Diagnostic& why) {
  const bool missing = why.code == "E701";
  return (missing ? "no library of an NVIDIA driver" : why.message) + ": only the host is watched";
}

// With a command standard output is the command's.
void show(const std::string& text, bool on_error) {
  std::FILE* stream = on_error ? stderr : stdout;
  std::fputs(text.c_str(), stream);
  std::fflush(stream);
}

int64_t unix_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

Diagnostics usage_faults(const Flags& flags) {
  const auto fault = [](const char* message, const char* help) {
    return error("E108", message, {}, help).value();
  };
  if (flags.pid.empty() && flags.command.empty())
    return fault("which process? give its PID, or a command after --",
                 "plimsoll-monitor -- python3 train.py");
  if (!flags.pid.empty() && !flags.command.empty())
    return fault("a PID and a command exclude each other", "");
  if (!flags.measured.empty() && flags.shared.model.empty())
    return fault("--run describes the run to 'plimsoll validate': it needs --model",
                 "--model builtin:resnet50 --batch 32 --gpu local");
  return {};
}

int write_measured(std::optional<cli::OutputFile>& file, const std::optional<Prediction>& predicted,
                   const Summary& summary) {
  if (!file || !predicted) return 0;
  auto written = file->write(to_measured(predicted->request, summary));
  if (!written) return report(written.error());
  std::vector<std::string> unsaid = settings_without_key(predicted->request);
  if (unsaid.empty()) return 0;
  for (std::string& flag : unsaid) flag.insert(0, "--");
  return report({warning(
      "W516", fmt::format("the run file cannot record {}, so 'plimsoll validate' will not use it",
                          fmt::join(unsaid, ", ")))});
}

// The files that the user wants.
struct Outputs {
  RunFiles files;  // written as the run goes on
  std::optional<cli::OutputFile> measured{}, page{};
};

Result<Outputs> open_outputs(const Flags& flags) {
  TRY(distinct_files({{"out", flags.files.lines},
                      {"csv", flags.files.csv},
                      {"trace", flags.files.trace},
                      {"run", flags.measured},
                      {"html", flags.page}},
                     {{"replay", flags.replay}, {"model", flags.shared.model}}));
  auto files = TRY(RunFiles::open(flags.files));
  Outputs outputs{.files = std::move(files)};
  for (const auto& [path, file] :
       {std::pair(&flags.measured, &outputs.measured), {&flags.page, &outputs.page}}) {
    TRY(cli::OutputFile::open_if_named(*path, flags.files.force, *file));
  }
  return outputs;
}

// What is written once the run is over; the exit status of a fault, or 0.
int write_end(Outputs& outputs, const std::optional<Prediction>& predicted, const Summary& summary,
              const Moments& moments) {
  int fault = 0;
  if (const auto said = outputs.files.end(summary); !said.empty()) fault = report(said);
  if (const int failed = write_measured(outputs.measured, predicted, summary); failed != 0)
    fault = failed;
  if (!outputs.page) return fault;
  const std::string page = to_page(summary, moments, cli::command_line());
  const int failed = cli::write_page(*outputs.page, page);
  return failed != 0 ? failed : fault;
}

int exit_status_of(const Watch& watch, Watch::End end, const Summary& summary, int fault) {
  if (end == Watch::End::kAskedToStop) return 128 + watch.stop_signal();
  // A command that went well is no excuse for a file that is not whole.
  if (summary.exit_status && *summary.exit_status != 0) return *summary.exit_status;
  return fault;
}

// As a shell says it of a command.
int not_started(const Diagnostics& faults) {
  const int status = report(faults);
  const std::string& code = faults.front().code;
  return code == "E712" ? kNotFound : code == "E713" ? kNotRunnable : status;
}

// On a terminal that a command writes to as well, a screen would be written over its lines.
Terminal terminal_beside(bool command, bool on_error) {
  Terminal terminal = terminal_of(on_error ? STDERR_FILENO : STDOUT_FILENO);
  if (command && ::isatty(STDOUT_FILENO) != 0) terminal.screen = false;
  return terminal;
}

int watch(const Flags& flags) {
  if (const Diagnostics faults = usage_faults(flags); !faults.empty()) return report(faults);
  const auto interval = parse_duration("--interval", flags.interval, kLeastInterval, kMostInterval);
  if (!interval) return report(interval.error());
  std::optional<Prediction> predicted;
  if (!flags.shared.model.empty()) {
    auto made = predict(flags.shared);
    if (!made) return report(made.error());
    predicted = std::move(*made);
  }
  auto outputs = open_outputs(flags);  // before anything starts
  if (!outputs) return report(outputs.error());
  sigset_t before;
  const int signals = take_signals(before);  // before there are threads
  auto gpus = find_gpus(flags);
  if (!gpus && !flags.replay.empty()) return report(gpus.error());
  std::string gpu_source = gpus ? (*gpus)->description() : without_gpus(gpus.error().front());
  auto watched = find_watched(flags, before);
  if (!watched) return not_started(watched.error());
  const bool on_error = watched->command.has_value() || flags.json;
  const bool live = !flags.json && !flags.quiet;
  if (live) show(escaped_format("gpu: {}\n", gpu_source), on_error);

  int fault = 0;
  const auto say = [&fault](const Diagnostics& said) {
    if (!said.empty()) fault = report(said);
  };
  std::optional<Band> band;
  if (predicted) band = predicted->band;
  say(outputs->files.begin({.pid = watched->pid,
                            .command = watched->name,
                            .started_unix_ns = unix_ns(),
                            .interval_ns = *interval},
                           band));
  LiveView view(terminal_beside(watched->command.has_value(), on_error),
                fmt::format("pid {} {}", watched->pid, shortened(watched->name, 60)));
  Watch watch(ProcFolder(), watched->pid, watched->command ? &*watched->command : nullptr,
              gpus ? gpus->get() : nullptr,
              {.interval_ns = *interval,
               .pids_are_ours = in_first_pid_namespace(),
               .band = std::move(band)});
  Moments moments;
  const auto end = watch.run(signals, [&](const Observation& observation) {
    say(outputs->files.add(observation));
    if (outputs->page) moments.take(observation.sample);
    if (live) show(view.next(observation), on_error);
  });
  Summary summary = watch.summary();
  summary.command = watched->name;
  summary.gpu_source = std::move(gpu_source);
  if (const int failed = write_end(*outputs, predicted, summary, moments); failed != 0)
    fault = failed;
  if (flags.json) {
    if (const int failed = cli::print(to_json(summary)); failed != 0) fault = failed;
  } else if (on_error) {
    show(to_text(summary), on_error);
  } else if (const int failed = cli::print(to_text(summary)); failed != 0) {
    fault = failed;
  }
  return exit_status_of(watch, end, summary, fault);
}

int run(std::vector<std::string> arguments) {
  cli::remember_command("plimsoll-monitor", arguments);
  Flags flags;
  const auto begun = cli::asked_words(arguments);
  if (begun) arguments.clear();
  if (const auto bar = std::ranges::find(arguments, "--"); bar != arguments.end()) {
    flags.command.assign(bar + 1, arguments.end());
    arguments.erase(bar, arguments.end());
    if (flags.command.empty())
      return report(error("E108", "no command follows --", {}, "-- python3 train.py").value());
  }
  const cli::Program app(kExamples, "plimsoll-monitor [PID]");
  app.set_help_flag("-h,--help", "show this");
  app.set_help_all_flag("--help-all", "show all options");
  bool version = false;
  app.add_flag("--version", version, "show the version");
  app.allow_extras();
  declare(app, flags);
  // After -- stand a command's own words.
  if (begun)
    return std::ranges::count(*begun, "--") > 0 ? 0
                                                : cli::print_words(cli::completions(app, *begun));
  if (auto good = cli::check_arguments(app, arguments); !good) return report(good.error());
  const cli::Reading reading = app.read(arguments);
  const bool all = reading.kind == cli::Reading::Kind::kAllHelp;
  if (all || reading.kind == cli::Reading::Kind::kHelp)
    return cli::print(cli::help_of(app, {}, all, {}));
  if (reading.kind == cli::Reading::Kind::kFault) return report(cli::refused(reading.text));
  if (version)
    return cli::print(fmt::format("plimsoll-monitor {}, commit {}\n", kVersion, commit()));
  const Diagnostics unknown = cli::unknown_arguments(app, app.remaining());
  return unknown.empty() ? watch(flags) : report(unknown);
}

}  // namespace
}  // namespace plimsoll::monitor

int main(int argc, char** argv) {
  plimsoll::cli::keep_standard_descriptors();
  try {
    return plimsoll::monitor::run({argv + 1, argv + argc});
  } catch (const std::bad_alloc&) {
    std::fputs("plimsoll-monitor: error: out of memory [E801]\n", stderr);
    return 5;
  } catch (const std::exception& e) {
    std::fprintf(stderr,
                 "plimsoll-monitor: a bug of ours: %s [E901]; please report it with the command "
                 "line\n",
                 e.what());
    return 70;
  }
}
