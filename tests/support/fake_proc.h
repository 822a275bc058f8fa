// A folder that looks like /proc, with the processes that a test puts there.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "tests/support/scratch.h"

namespace plimsoll::test {

struct FakeProcess {
  int pid = 0, parent = 1;
  std::string name = "python3";
  int64_t rss_mib = 0, high_mib = 0, swap_mib = 0, pss_mib = -1;  // -1: not told
  int64_t cpu_ticks = 0, minor_faults = 0, major_faults = 0;
  int64_t read_bytes = -1, written_bytes = 0;  // -1: not told
  int64_t started = 1000, threads = 1;
  char state = 'S';
};

class FakeProc {
 public:
  std::string path() const { return scratch_.path(""); }

  void put(const FakeProcess& p) const {
    const std::string folder = fmt::format("{}/", p.pid);
    // Its one thread has no list of children until a test puts one: a kernel that keeps none.
    const std::string thread = fmt::format("{}task/{}/", folder, p.pid);
    std::filesystem::create_directories(scratch_.path(thread));
    scratch_.write(thread + "stat", "");
    scratch_.write(folder + "stat",
                   fmt::format("{} ({}) {} {} 0 0 0 -1 0 {} 0 {} 0 {} 0 0 0 20 0 {} 0 {} 0 0\n",
                               p.pid, p.name, p.state, p.parent, p.minor_faults, p.major_faults,
                               p.cpu_ticks, p.threads, p.started));
    // One that has ended has no memory to tell of.
    scratch_.write(folder + "status",
                   p.state == 'Z'
                       ? fmt::format("Name:\t{}\n", p.name)
                       : fmt::format("Name:\t{}\nVmHWM:\t{} kB\nVmRSS:\t{} kB\nVmSwap:\t{} kB\n",
                                     p.name, std::max(p.high_mib, p.rss_mib) * 1024,
                                     p.rss_mib * 1024, p.swap_mib * 1024));
    if (p.pss_mib >= 0) {
      scratch_.write(folder + "smaps_rollup",
                     fmt::format("00400000-7ffd [rollup]\nRss: {} kB\nPss: {} kB\nPss_Anon: 1 kB\n",
                                 p.rss_mib * 1024, p.pss_mib * 1024));
    }
    if (p.read_bytes >= 0) {
      scratch_.write(folder + "io", fmt::format("rchar: 99\nread_bytes: {}\nwrite_bytes: {}\n",
                                                p.read_bytes, p.written_bytes));
    }
  }
  void remove(int pid) const { std::filesystem::remove_all(scratch_.path(std::to_string(pid))); }
  // The kernel's list of a thread's children.
  void put_children(int pid, int thread, const std::string& children) const {
    const std::string folder = fmt::format("{}/task/{}/", pid, thread);
    std::filesystem::create_directories(scratch_.path(folder));
    scratch_.write(folder + "children", children);
  }

 private:
  Scratch scratch_;
};

}  // namespace plimsoll::test
