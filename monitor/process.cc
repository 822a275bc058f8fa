#include "monitor/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <string_view>

namespace plimsoll::monitor {
namespace {

// Of status, the largest file read here; what a thread's list of children exceeds is read on.
constexpr size_t kPiece = 4096;

std::optional<std::string> text_of(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  std::array<char, kPiece> piece{};
  while (true) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) text.clear();  // it ended meanwhile, or we may not
    if (got <= 0) break;
    text.append(piece.data(), static_cast<size_t>(got));
  }
  ::close(fd);
  if (text.empty()) return std::nullopt;
  return text;
}

template <class T>
T number(std::string_view text) {
  T value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string_view next_word(std::string_view& text) {
  const size_t begin = std::min(text.find_first_not_of(" \t\n"), text.size());
  const size_t end = std::min(text.find_first_of(" \t\n", begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

// "VmRSS:    1620 kB" or "read_bytes: 0": the number after a key at the beginning of a line.
std::optional<int64_t> field(std::string_view text, std::string_view key) {
  for (size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
    if (at > 0 && text[at - 1] != '\n') continue;
    text.remove_prefix(at + key.size());
    return number<int64_t>(next_word(text));
  }
  return std::nullopt;
}

int64_t kibibytes(std::string_view text, std::string_view key) {
  return field(text, key).value_or(0) * 1024;
}

bool is_pid(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

// The name stands in parentheses and may hold any of them itself: what follows the last is ours.
bool take_stat(std::string_view stat, ProcessReading& into) {
  const size_t open = stat.find('('), close = stat.rfind(')');
  if (open == stat.npos || close == stat.npos || close < open) return false;
  into.name = std::string(stat.substr(open + 1, close - open - 1));
  stat.remove_prefix(close + 1);
  std::array<std::string_view, 20> words;  // the fields 3 to 22 of proc(5)
  for (std::string_view& word : words) word = next_word(stat);
  if (words.back().empty()) return false;
  static const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto of = [&](size_t in_manual) { return words[in_manual - 3]; };
  into.ended = of(3) == "Z" || of(3) == "X";
  into.parent = number<pid_t>(of(4));
  into.minor_faults = number<int64_t>(of(10));
  into.major_faults = number<int64_t>(of(12));
  into.cpu_seconds = tick * static_cast<double>(number<int64_t>(of(14)) + number<int64_t>(of(15)));
  into.threads = number<int64_t>(of(20));
  into.started = number<uint64_t>(of(22));
  return true;
}

}  // namespace

std::optional<ProcessReading> ProcFolder::read(pid_t pid) const {
  const std::string folder = fmt::format("{}/{}/", path_, pid);
  const auto stat = text_of(folder + "stat");
  ProcessReading reading{.pid = pid};
  if (!stat || !take_stat(*stat, reading)) return std::nullopt;
  if (const auto status = text_of(folder + "status")) {
    reading.rss = kibibytes(*status, "VmRSS:");
    // Its memory is given back before it is a zombie.
    reading.ended = reading.ended || !field(*status, "VmRSS:");
    reading.rss_high = kibibytes(*status, "VmHWM:");
    reading.swap = kibibytes(*status, "VmSwap:");
  }
  if (const auto io = text_of(folder + "io")) {
    reading.read_bytes = field(*io, "read_bytes:");
    reading.written_bytes = field(*io, "write_bytes:");
  }
  return reading;
}

std::optional<int64_t> ProcFolder::pss(pid_t pid) const {
  const auto text = text_of(fmt::format("{}/{}/smaps_rollup", path_, pid));
  if (!text) return std::nullopt;
  const auto value = field(*text, "Pss:");
  if (!value) return std::nullopt;
  return *value * 1024;
}

std::vector<pid_t> ProcFolder::listed(const std::string& folder) const {
  std::vector<pid_t> ids;
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(folder.c_str()), ::closedir);
  if (!opened) return ids;
  while (const dirent* entry = ::readdir(opened.get())) {
    if (is_pid(entry->d_name)) ids.push_back(number<pid_t>(entry->d_name));
  }
  return ids;
}

std::vector<pid_t> ProcFolder::children(const std::vector<pid_t>& parents) {
  std::vector<pid_t> found;
  bool kept = true;
  for (const pid_t parent : parents) {
    const std::string tasks = fmt::format("{}/{}/task", path_, parent);
    for (const pid_t task : listed(tasks)) {
      const std::string list = fmt::format("{}/{}/children", tasks, task);
      const auto text = text_of(list);
      if (!text && ::access(list.c_str(), F_OK) != 0 &&
          ::access(fmt::format("{}/{}/stat", tasks, task).c_str(), F_OK) == 0)
        kept = false;
      std::string_view rest = text ? std::string_view(*text) : std::string_view();
      for (auto word = next_word(rest); !word.empty(); word = next_word(rest))
        found.push_back(number<pid_t>(word));
    }
  }
  if (kept) return found;
  look_at_all();
  found.clear();
  for (const auto& [pid, parent] : parents_) {
    if (std::ranges::find(parents, parent) != parents.end()) found.push_back(pid);
  }
  return found;
}

void ProcFolder::look_at_all() {
  std::map<pid_t, pid_t> now;
  for (const pid_t pid : listed(path_)) {
    if (const auto known = parents_.find(pid); known != parents_.end()) {
      now.insert(*known);
      continue;
    }
    const auto stat = text_of(fmt::format("{}/{}/stat", path_, pid));
    ProcessReading reading;
    if (stat && take_stat(*stat, reading)) now[pid] = reading.parent;
  }
  parents_ = std::move(now);
}

}  // namespace plimsoll::monitor
