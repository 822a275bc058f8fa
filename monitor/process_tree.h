// A process and all that descend from it, sampled over time.
//
// Memory is counted once: pages that the processes of a tree share (after a fork, or of a data
// loader) stand in the RSS of each. What a process shares is its RSS less its PSS, read at most
// once a second; until it has been read, a new child counts for what it has grown by since it was
// first seen. A process alone counts for its RSS.
#pragma once

#include <map>

#include "graph/json/fields.h"
#include "monitor/process.h"

namespace plimsoll::monitor {

struct TreeMember {
  pid_t pid = 0;
  std::string name{};
  int64_t rss = 0;
};

inline void describe(Fields& f, TreeMember& member) {
  f("pid", member.pid);
  f("name", member.name);
  f("rss_bytes", member.rss);
}

// All processes together. Times and counts are since the watch began.
struct HostReading {
  bool alive = true;  // whether the root is
  std::vector<TreeMember> members{};
  int64_t threads = 0;
  int64_t rss = 0;       // the plain sum
  int64_t resident = 0;  // counted once
  int64_t resident_high =
      0;  // the most since the last sample, between samples too, for one process
  int64_t swap = 0;
  std::optional<int64_t> pss{};  // as last read
  double cpu_seconds = 0;
  int64_t minor_faults = 0, major_faults = 0;
  std::optional<int64_t> read_bytes{}, written_bytes{};
};

class ProcessTree {
 public:
  enum class Root : uint8_t { kRunning, kJustStarted };
  // What a look for children, and one at shared pages, may each cost, as a share of a CPU.
  static constexpr double kLookShare = 0.0025;
  // Of a root that was running already, what it did before is not counted.
  ProcessTree(ProcFolder proc, pid_t root, Root state, double look_share = kLookShare);

  // `now`: seconds of a clock that never goes back. Children are looked for, and PSS is read, as
  // often as `look_share` allows.
  HostReading sample(double now);

 private:
  struct Member {
    ProcessReading first, last;
    int64_t least_rss = 0;
    std::optional<int64_t> shared;  // RSS less PSS
    std::optional<int64_t> pss;
    bool inherits = false;  // from a parent in the tree
    bool counts_from_birth = true;
  };

  std::vector<ProcessReading> new_children(const std::vector<pid_t>& parents);
  void look_for_children(double now);
  void add(const ProcessReading& reading, bool from_birth, bool inherits);
  void refresh();
  void read_pss(double now);
  int64_t shared_of(const Member& member) const;
  static void take_work(const Member& member, HostReading& into);

  ProcFolder proc_;
  pid_t root_;
  double look_share_;
  std::map<pid_t, Member> members_;
  HostReading gone_;  // what ended processes had done
  double next_look_ = 0, next_pss_ = 0;
};

}  // namespace plimsoll::monitor
