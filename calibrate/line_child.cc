#include "calibrate/line_child.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace plimsoll {
namespace {

[[noreturn]] void live_as_child(int socket, pid_t parent,
                                const std::function<void(LineLink&)>& live) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);  // a group of its own, ended as one
  if (::getppid() != parent) ::_exit(0);
  ::signal(SIGINT, SIG_IGN);  // ^C is for whoever asks
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  LineLink link(socket);
  live(link);
  ::_exit(0);  // past the libraries' own destructors
}

}  // namespace

bool LineLink::send(std::string_view line) const {
  std::string text(line);
  text += '\n';
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t n = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

// Whether something can be read before `end`.
bool LineLink::wait_until(std::chrono::steady_clock::time_point end) const {
  using std::chrono::milliseconds;
  while (true) {
    const auto left = end - std::chrono::steady_clock::now();
    const auto most = std::max(milliseconds(0), std::chrono::ceil<milliseconds>(left));
    pollfd waiting{.fd = socket_, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(most.count()));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return true;  // reading says why
  }
}

std::optional<std::string> LineLink::receive(std::optional<std::chrono::milliseconds> limit) {
  const auto begun = std::chrono::steady_clock::now();
  std::array<char, 1 << 14> piece{};
  size_t searched = 0;
  while (true) {
    if (const size_t end = unread_.find('\n', searched); end != unread_.npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    searched = unread_.size();
    late_ = limit && !wait_until(begun + *limit);
    if (late_) return std::nullopt;
    const ssize_t got = ::recv(socket_, piece.data(), piece.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    unread_.append(piece.data(), static_cast<size_t>(got));
  }
}

Result<LineChild> LineChild::start(const std::function<void(LineLink&)>& live) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return error("E707", fmt::format("no process can be started: {}", std::strerror(errno)));
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    live_as_child(ends[1], parent, live);
  }
  ::close(ends[1]);
  if (child > 0) ::setpgid(child, child);  // as the child does, whoever comes first
  LineChild made(child, ends[0]);
  if (child < 0)
    return error("E707", fmt::format("no process can be started: {}", std::strerror(errno)));
  return made;
}

LineChild::LineChild(LineChild&& other) noexcept
    : child_(std::exchange(other.child_, -1)),
      socket_(std::exchange(other.socket_, -1)),
      link_(std::move(other.link_)) {}

LineChild::~LineChild() {
  if (socket_ >= 0) ::close(socket_);  // it ends by itself
  while (child_ > 0 && ::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<std::string> LineChild::listen(Limit limit) {
  auto line = link_.receive(limit);
  if (link_.late() && child_ > 0) ::kill(-child_, SIGKILL);
  return line;
}

std::optional<std::string> LineChild::ask(std::string_view line, Limit limit) {
  if (!link_.send(line)) return std::nullopt;
  return listen(limit);
}

std::string LineChild::how_it_ended() {
  int status = 0;
  while (child_ > 0 && ::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  if (link_.late()) return "did not answer, and was ended";
  return WIFSIGNALED(status) ? fmt::format("crashed ({})", ::strsignal(WTERMSIG(status)))
                             : fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace plimsoll
