// A command started to be watched: a child like any other, with its own standard streams and the
// signals as the caller had them. It is never signalled, and goes on where the monitor ends first.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "graph/base/diagnostic.h"

namespace plimsoll::monitor {

// How a child ended.
struct Ended {
  int status = 0;        // of exit, or 128 and the signal, as a shell shows it
  int64_t peak_rss = 0;  // of it and of those that it has waited for; 0 where that is not known
};

class Command {
 public:
  // `signals`: the mask it begins with. Returns once the command has taken over the child, or
  // failed to: E712 not found (a shell's status 127), E713 cannot be executed (126), E714 no
  // process can be made.
  static Result<Command> start(const std::vector<std::string>& words, const sigset_t& signals);

  pid_t pid() const { return pid_; }
  // Whether it has ended, without waiting.
  std::optional<Ended> ended();

 private:
  Command(pid_t pid, int64_t rss_before) : pid_(pid), rss_before_(rss_before) {}

  pid_t pid_;
  int64_t rss_before_;  // of this program when it forked: the kernel counts it to the child's
};

// Becomes readable when the process ends; -1 where the kernel has none (before 5.3) or refuses.
int open_process_descriptor(pid_t pid);

}  // namespace plimsoll::monitor
