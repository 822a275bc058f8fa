#include "calibrate/asking_child.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "graph/json/reader.h"

namespace plimsoll {
namespace {

bool send_line(int link, std::string_view line) {
  std::string text(line);
  text += '\n';
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t n = ::send(link, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

bool receive_line(int link, std::string& unread, std::string& line) {
  std::array<char, 1 << 14> piece{};
  size_t searched = 0;
  while (true) {
    if (const size_t end = unread.find('\n', searched); end != unread.npos) {
      line = unread.substr(0, end);
      unread.erase(0, end + 1);
      return true;
    }
    searched = unread.size();
    const ssize_t got = ::recv(link, piece.data(), piece.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    unread.append(piece.data(), static_cast<size_t>(got));
  }
}

std::string greeting(const Result<Cudnn>& cudnn) {
  JsonWriter out;
  out.begin_object();
  if (!cudnn) {
    const Diagnostic& d = cudnn.error().front();
    out.key("code").string(d.code).key("message").string(d.message).key("help").string(d.help);
  } else {
    out.key("version").string(cudnn->version());
    out.key("libraries").begin_array();
    for (const LoadedLibrary& library : cudnn->libraries()) {
      out.begin_object().key("name").string(library.name);
      out.key("version").string(library.version);
      out.key("path").string(library.path).end_object();
    }
    out.end_array();
  }
  out.end_object();
  return out.take();
}

std::string said(const Cudnn::Listed& listed) {
  JsonWriter out;
  out.begin_object();
  out.key("mode").string(listed.mode);
  if (!listed.error.empty()) out.key("error").string(listed.error);
  write_plans(out, "plans", listed.plans);
  out.end_object();
  return out.take();
}

// The child's whole life: it answers a question a line until nobody asks any more.
[[noreturn]] void answer_questions(int link, const Device& device, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  const Result<Cudnn> cudnn = Cudnn::open(device);
  bool listening = send_line(link, greeting(cudnn)) && cudnn.has_value();
  std::string unread, line;
  while (listening && receive_line(link, unread, line)) {
    const auto value = read_json(line, "question");
    if (!value) break;
    Diagnostics faults;
    JsonObject object(*value, "question", faults, true);
    const ConvQuestion question = read_conv_question(object, DType::kFloat32);
    listening = !has_error(faults) && send_line(link, said(cudnn->ask(question)));
  }
  ::_exit(0);  // past the libraries' own destructors
}

}  // namespace

Result<AskingChild> AskingChild::start(const Device& device) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return error("E707", fmt::format("no process can be started: {}", std::strerror(errno)));
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    answer_questions(ends[1], device, parent);
  }
  ::close(ends[1]);
  AskingChild asking(child, ends[0]);
  asking.device_ = fmt::format("{} (compute capability {}.{})", device.id,
                               device.compute_capability.major, device.compute_capability.minor);
  if (device.compute_capability.major == 10)
    asking.help_ =
        "without a GPU, 9.8 to 9.10 crash at compute capability 10.0, which 9.19 "
        "answers: PLIMSOLL_CUDNN names its folder";
  if (child < 0)
    return error("E707", fmt::format("no process can be started: {}", std::strerror(errno)));
  std::string line;
  if (!receive_line(asking.link_, asking.unread_, line)) return asking.gone("loading it");
  const auto value = read_json(line, "greeting");
  if (!value) return tl::make_unexpected(value.error());
  Diagnostics faults;
  JsonObject object(*value, "greeting", faults, true);
  if (object.has("code")) {
    return error(object.required_string("code"), object.required_string("message"), {},
                 object.required_string("help"));
  }
  asking.version_ = object.required_string("version");
  for (const JsonValue& each : object.required_list("libraries")) {
    JsonObject library(each, "greeting", faults);
    asking.libraries_.push_back({library.required_string("name"),
                                 library.required_string("version"),
                                 library.required_string("path")});
  }
  if (has_error(faults)) return tl::make_unexpected(faults);
  return asking;
}

AskingChild::AskingChild(AskingChild&& other) noexcept
    : child_(std::exchange(other.child_, -1)),
      link_(std::exchange(other.link_, -1)),
      device_(std::move(other.device_)),
      help_(std::move(other.help_)),
      version_(std::move(other.version_)),
      unread_(std::move(other.unread_)),
      libraries_(std::move(other.libraries_)) {}

AskingChild::~AskingChild() {
  if (link_ >= 0) ::close(link_);  // it ends by itself
  while (child_ > 0 && ::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

tl::unexpected<Diagnostics> AskingChild::gone(const std::string& doing) {
  int status = 0;
  while (child_ > 0 && ::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  const std::string how = WIFSIGNALED(status)
                              ? fmt::format("crashed ({})", ::strsignal(WTERMSIG(status)))
                              : fmt::format("ended with status {}", WEXITSTATUS(status));
  return error("E707", fmt::format("cuDNN {} {} {}, about {}", version_, how, doing, device_), {},
               help_);
}

Result<Cudnn::Listed> AskingChild::ask(const ConvQuestion& question) {
  JsonWriter out;
  out.begin_object();
  write_conv_question(out, question);
  out.end_object();
  std::string line;
  if (!send_line(link_, out.take()) || !receive_line(link_, unread_, line))
    return gone(fmt::format("when asked '{}'", text_of(question)));
  const auto value = read_json(line, "answer");
  if (!value) return tl::make_unexpected(value.error());
  Diagnostics faults;
  JsonObject object(*value, "answer", faults, true);
  Cudnn::Listed listed;
  listed.mode = object.required_string("mode");
  listed.error = object.optional_string("error").value_or("");
  listed.plans = read_plans(object, "plans");
  if (has_error(faults)) return tl::make_unexpected(faults);
  return listed;
}

}  // namespace plimsoll
