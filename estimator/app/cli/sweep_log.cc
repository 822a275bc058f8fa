#include "estimator/app/cli/sweep_log.h"

#include <fmt/format.h>

#include <filesystem>

#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"

namespace plimsoll::cli {

namespace {

constexpr const char* kRecordBegins = R"({"configuration":)";

tl::unexpected<Diagnostics> another_sweep(const std::string& path, const std::string& unlike) {
  return error("E322", fmt::format("is another sweep's: {} changed", unlike),
               {.file = path, .line = 1, .node = {}}, "start a new file with " + setting("out"));
}

tl::unexpected<Diagnostics> no_record(const std::string& path, const std::string& line,
                                      int number) {
  return error("E321", fmt::format("{} is no record of a sweep", shortened(line, 60)),
               {.file = path, .line = number, .node = {}},
               fmt::format("name a file that {} has written", setting("out")));
}

}  // namespace

Result<SweepLog> SweepLog::start(const std::string& path, const SweepOrigin& origin) {
  std::error_code unknown;
  if (std::filesystem::exists(std::filesystem::symlink_status(path, unknown))) {
    return error("E610", "exists", {.file = path, .node = {}},
                 setting("resume", path) + " continues it");
  }
  return resume(path, origin);
}

Result<SweepLog> SweepLog::resume(const std::string& path, const SweepOrigin& origin) {
  auto file = TRY(JsonLinesFile::open(
      path, {.begins = {std::string(SweepOrigin::kBegins), std::string(kRecordBegins)}}));
  SweepLog log(path, std::move(file));
  const std::vector<std::string>& lines = log.file_.lines();
  if (lines.empty()) {
    TRY(log.file_.append(origin.line()));
    return log;
  }
  if (!lines.front().starts_with(SweepOrigin::kBegins)) {
    if (!read_sweep_record(lines.front())) return no_record(path, lines.front(), 1);
    return error("E322", "was written by an older version, which did not record the plan",
                 {.file = path, .line = 1, .node = {}}, "start a new file with " + setting("out"));
  }
  if (const std::string unlike = origin.unlike(lines.front()); !unlike.empty())
    return another_sweep(path, unlike);
  for (size_t i = 1; i < lines.size(); ++i) {
    auto record = read_sweep_record(lines[i]);
    if (!record) return no_record(path, lines[i], static_cast<int>(i) + 1);
    log.last_ = record->number;
    log.recorded_.insert_or_assign(record->number, Recorded{lines[i], std::move(record->point)});
  }
  TRY(log.file_.cut_torn_end());
  return log;
}

std::optional<SweepPoint> SweepLog::known(
    const std::vector<SweptConfiguration>& configurations) const {
  const Recorded* one = nullptr;
  for (const SweptConfiguration& configuration : configurations) {
    const auto at = recorded_.find(configuration.number);
    if (at == recorded_.end() || at->first == last_) return std::nullopt;
    one = &at->second;
  }
  return one ? std::optional(one->point) : std::nullopt;
}

Result<void> SweepLog::add(const SweptConfiguration& configuration, const std::string& line) {
  const auto at = recorded_.find(configuration.number);
  if (at == recorded_.end()) {
    ++added_;
    return file_.append(line);
  }
  if (at->second.line == line) return {};
  return error(
      "E322",
      fmt::format("{} has a different result for configuration {}", path_, configuration.number),
      {},
      "another plan, model, version or other options wrote it: start a new file with " +
          setting("out"));
}

}  // namespace plimsoll::cli
