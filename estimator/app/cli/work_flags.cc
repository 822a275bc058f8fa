#include "estimator/app/cli/work_flags.h"

#include <fmt/format.h>

#include <thread>

#include "estimator/app/cli/flag_groups.h"
#include "estimator/settings/values.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"

namespace plimsoll::cli {

void add_work(const FlagSet& app, WorkFlags& flags) {
  app.add_option("--threads", flags.threads, "number of threads [one for each CPU]")
      .type_name("N")
      .group(rarely(kOutputGroup));
  app.add_option("--progress", flags.progress,
                 "show progress: auto, always or never [auto: on a terminal]")
      .type_name("WHEN")
      .group(rarely(kOutputGroup));
}

Result<void> check_work(const WorkFlags& flags) {
  constexpr int64_t kMostThreads = 1024;
  if (!progress_when(flags)) {
    return error("E106",
                 fmt::format("{} knows no '{}'", setting("progress"), shortened(flags.progress)),
                 {}, "auto, always or never");
  }
  if (flags.threads.empty()) return {};
  const auto count = parse_count(setting("threads"), flags.threads, 1, kMostThreads);
  return count ? Result<void>() : tl::make_unexpected(count.error());
}

size_t threads_of(const WorkFlags& flags) {
  const auto threads = parse_number<size_t>(flags.threads);
  return threads ? *threads : std::thread::hardware_concurrency();
}

std::optional<Progress::When> progress_when(const WorkFlags& flags) {
  if (flags.progress == "auto") return Progress::When::kAuto;
  if (flags.progress == "always") return Progress::When::kAlways;
  return flags.progress == "never" ? std::optional(Progress::When::kNever) : std::nullopt;
}

}  // namespace plimsoll::cli
