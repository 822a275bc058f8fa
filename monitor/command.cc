#include "monitor/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "graph/base/escape.h"
#include "monitor/process.h"

namespace plimsoll::monitor {
namespace {

constexpr int64_t kKibibyte = 1024;

int64_t own_rss() {
  const auto own = ProcFolder().read(::getpid());
  return own ? own->rss : 0;
}

// In the child: only what is safe after a fork.
[[noreturn]] void become(char** words, int report, const sigset_t& signals) {
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  ::execvp(words[0], words);
  const int why = errno;
  (void)!::write(report, &why, sizeof why);
  ::_exit(127);
}

}  // namespace

Result<Command> Command::start(const std::vector<std::string>& words, const sigset_t& signals) {
  std::vector<std::string> copies = words;
  std::vector<char*> list;
  for (std::string& word : copies) list.push_back(word.data());
  list.push_back(nullptr);
  std::array<int, 2> report{};
  if (::pipe2(report.data(), O_CLOEXEC) != 0)
    return error("E714", fmt::format("no process can be started: {}", std::strerror(errno)));
  const int64_t before = own_rss();
  const pid_t child = ::fork();
  if (child == 0) become(list.data(), report[1], signals);
  const int fork_error = errno;
  ::close(report[1]);
  int why = 0;
  ssize_t got = 0;
  if (child > 0) {
    do {
      got = ::read(report[0], &why, sizeof why);
    } while (got < 0 && errno == EINTR);
  }
  ::close(report[0]);
  if (child < 0)
    return error("E714", fmt::format("no process can be started: {}", std::strerror(fork_error)));
  if (got == sizeof why) {
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return error(
        why == ENOENT ? "E712" : "E713",
        fmt::format("cannot run {}: {}", shortened(words.front(), 80), std::strerror(why)));
  }
  return Command(child, before);
}

std::optional<Ended> Command::ended() {
  int status = 0;
  rusage used{};
  const pid_t got = ::wait4(pid_, &status, WNOHANG, &used);
  if (got != pid_ || (!WIFEXITED(status) && !WIFSIGNALED(status))) return std::nullopt;
  Ended end{.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
  const int64_t peak = used.ru_maxrss * kKibibyte;
  if (peak > rss_before_) end.peak_rss = peak;
  return end;
}

int open_process_descriptor(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

}  // namespace plimsoll::monitor
