#include "estimator/app/cli/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "graph/base/text.h"

namespace plimsoll::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostOutput = size_t{1} << 16;

bool is_program(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return static_cast<int>(std::max<int64_t>(0, left.count()));
}

// Until the child closes its output, has said too much, or the time is over.
void read_output(int fd, Clock::time_point end, ChildAnswer& answer) {
  std::array<char, 4096> piece{};
  while (answer.out.size() < kMostOutput) {
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, milliseconds_until(end));
    if (ready < 0 && errno == EINTR) continue;
    answer.timed_out = ready == 0;
    if (ready <= 0) return;
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    answer.out.append(piece.data(), static_cast<size_t>(got));
  }
}

// A child that closed its output is given what is left of the time to end.
int wait_for(pid_t child, Clock::time_point end) {
  int status = 0;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 5'000'000};
  while (milliseconds_until(end) > 0) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (ended < 0 && errno != EINTR) return -1;
    ::nanosleep(&kPause, nullptr);
  }
  ::kill(-child, SIGKILL);  // and what it has started
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return -1;
}

}  // namespace

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view folders = path ? path : "";
  while (!folders.empty()) {
    const std::string folder(take_part(folders, ':'));
    // A relative folder is wherever the user stands: what lies there is not meant.
    if (!folder.starts_with('/')) continue;
    if (std::string file = folder + "/" + name; is_program(file)) return file;
  }
  return {};
}

ChildAnswer run_child(const std::string& path, const std::vector<std::string>& arguments,
                      std::chrono::milliseconds limit, ChildErrors errors) {
  ChildAnswer answer;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return answer;
  std::vector<std::string> words = {path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  if (errors == ChildErrors::kWithOutput) {
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  } else {
    ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  }
  pid_t child = 0;
  posix_spawnattr_t about{};
  ::posix_spawnattr_init(&about);
  ::posix_spawnattr_setflags(&about, POSIX_SPAWN_SETPGROUP);  // a group of its own, ended as one
  ::posix_spawnattr_setpgroup(&about, 0);
  const int failed = ::posix_spawn(&child, path.c_str(), &actions, &about, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&about);
  ::close(ends[1]);
  if (failed == 0) {
    const auto end = Clock::now() + limit;
    read_output(ends[0], end, answer);
    const bool done = answer.timed_out || answer.out.size() >= kMostOutput;
    answer.status = wait_for(child, done ? Clock::now() : end);
  }
  ::close(ends[0]);
  return answer;
}

}  // namespace plimsoll::cli
