// One process as the kernel's /proc shows it. Text files are read, nothing else: no signal, no
// trace, no environment of another process.
//
// Sources: proc(5), sections /proc/pid/stat, /proc/pid/status, /proc/pid/io and
// /proc/pid/smaps_rollup of the Linux manual pages 6.03.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::monitor {

// Bytes, seconds and counts since the process began. What the kernel does not tell this user is
// missing.
struct ProcessReading {
  pid_t pid = 0, parent = 0;
  std::string name{};    // the kernel's, at most 15 bytes
  uint64_t started = 0;  // clock ticks after boot: a process that took over a pid has another
  bool ended = false;    // it has no memory any more
  int64_t threads = 0;
  int64_t rss = 0, rss_high = 0, swap = 0;
  double cpu_seconds = 0;  // of user and system
  int64_t minor_faults = 0, major_faults = 0;
  std::optional<int64_t> read_bytes{}, written_bytes{};  // of storage, not of caches
};

// The folder /proc, or one that looks like it.
class ProcFolder {
 public:
  explicit ProcFolder(std::string path = "/proc") : path_(std::move(path)) {}

  // Nothing where there is no such process. Cost: three small files, some 30 us.
  std::optional<ProcessReading> read(pid_t pid) const;
  // Proportional set size: each page divided by the number of processes that map it. Nothing where
  // it is not told. Cost: the kernel walks the page tables, about 1 ms for each GB in small pages.
  std::optional<int64_t> pss(pid_t pid) const;
  // The processes whose parent is one of `parents`: from each thread's list of children where the
  // kernel keeps it (CONFIG_PROC_CHILDREN), else by looking at every process there is, of which
  // each is read once.
  std::vector<pid_t> children(const std::vector<pid_t>& parents);

 private:
  std::vector<pid_t> listed(const std::string& folder) const;

  void look_at_all();

  std::string path_;
  std::map<pid_t, pid_t> parents_;  // of all processes, as they were when they were first seen
};

}  // namespace plimsoll::monitor
