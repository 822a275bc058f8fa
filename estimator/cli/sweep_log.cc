#include "estimator/cli/sweep_log.h"

#include <fmt/format.h>

#include <filesystem>

#include "graph/base/escape.h"
#include "graph/base/setting.h"

namespace plimsoll::cli {

Result<SweepLog> SweepLog::start(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::exists(path, unknown)) {
    return error("E610", "exists", {.file = path, .node = {}},
                 setting("resume", path) + " goes on with what it holds");
  }
  return resume(path);
}

Result<SweepLog> SweepLog::resume(const std::string& path) {
  auto file = JsonLinesFile::open(path);
  if (!file) return tl::make_unexpected(file.error());
  SweepLog log(path, std::move(*file));
  int number = 0;
  for (const std::string& line : log.file_.lines()) {
    ++number;
    auto record = read_sweep_record(line);
    if (!record) {
      return error("E321", fmt::format("{} is no record of a sweep", shortened(line, 60)),
                   {.file = path, .line = number, .node = {}},
                   fmt::format("name a file that {} has written", setting("out")));
    }
    log.last_ = record->number;
    log.recorded_.insert_or_assign(record->number, Recorded{line, std::move(record->point)});
  }
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
      fmt::format("{} holds another answer to configuration {}", path_, configuration.number), {},
      "another plan, model, version or other flags wrote it: start a new file with " +
          setting("out"));
}

}  // namespace plimsoll::cli
