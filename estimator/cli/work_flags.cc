#include "estimator/cli/work_flags.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <thread>

#include "estimator/cli/flag_groups.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"

namespace plimsoll::cli {

void add_work(CLI::App& app, WorkFlags& flags) {
  app.add_option("--threads", flags.threads, "that work at once [as many as CPUs]")
      ->type_name("N")
      ->group(rarely(kOutputGroup));
  app.add_option("--progress", flags.progress,
                 "auto, always or never: how far it has come [auto: on a terminal]")
      ->type_name("WHEN")
      ->group(rarely(kOutputGroup));
}

Result<void> check_work(const WorkFlags& flags) {
  constexpr int64_t kMostThreads = 1024;
  if (!progress_when(flags)) {
    return error("E106",
                 fmt::format("{} knows no '{}'", setting("progress"), shortened(flags.progress)),
                 {}, "auto, always or never");
  }
  if (flags.threads && (*flags.threads < 1 || *flags.threads > kMostThreads)) {
    return error("E103", fmt::format("{} must be a whole number from 1 to {}, found '{}'",
                                     setting("threads"), kMostThreads, *flags.threads));
  }
  return {};
}

size_t threads_of(const WorkFlags& flags) {
  return flags.threads ? static_cast<size_t>(*flags.threads) : std::thread::hardware_concurrency();
}

std::optional<Progress::When> progress_when(const WorkFlags& flags) {
  if (flags.progress == "auto") return Progress::When::kAuto;
  if (flags.progress == "always") return Progress::When::kAlways;
  return flags.progress == "never" ? std::optional(Progress::When::kNever) : std::nullopt;
}

}  // namespace plimsoll::cli
