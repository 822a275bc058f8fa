#include "estimator/app/cli/messages.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "estimator/app/cli/other_words.h"
#include "estimator/app/report/json.h"
#include "estimator/app/report/text.h"
#include "graph/base/escape.h"

namespace plimsoll::cli {
namespace {

// Asked for before anything can go wrong; see find_error_format() of command.cc.
thread_local bool errors_as_json = false;
thread_local Listener* listener = nullptr;

std::vector<std::string> flag_names(const FlagSet& app) {
  std::vector<std::string> names;
  for (const Flag& flag : app.flags()) {
    for (const std::string& name : flag.long_names()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace

Listener::Listener(Spelling as) : spelling(as), outer_(listener) { listener = this; }
Listener::~Listener() { listener = outer_; }
bool is_listened_to() { return listener != nullptr; }
Spelling spelling() { return listener ? listener->spelling : Spelling::kFlag; }

void report_as_json(bool json) { errors_as_json = json; }

void tell(const std::string& text) {
  if (!listener) std::fputs(text.c_str(), stderr);
}

int report(const Diagnostics& diagnostics) {
  if (listener) {
    for (const Diagnostic& d : diagnostics)
      listener->diagnostics.push_back(spelled(d, listener->spelling));
    return exit_status(diagnostics);
  }
  constexpr size_t kMostShown = 20;
  std::string text;
  for (size_t i = 0; i < diagnostics.size() && (errors_as_json || i < kMostShown); ++i) {
    text += errors_as_json
                ? to_json(diagnostics[i])
                : (diagnostics[i].place.file.empty() ? "plimsoll: " : "") + to_text(diagnostics[i]);
  }
  if (diagnostics.size() > kMostShown && !errors_as_json) {
    text += fmt::format("plimsoll: and {} more\n", diagnostics.size() - kMostShown);
  }
  std::fputs(text.c_str(), stderr);
  return exit_status(diagnostics);
}

int print(const std::string& text, int status) {
  if (listener) {
    listener->output += text;
    return status;
  }
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      std::fprintf(stderr, "plimsoll: error: cannot write the result: %s [E612]\n",
                   std::strerror(errno));
      return 4;
    }
    written += static_cast<size_t>(n);
  }
  return status;
}

Diagnostics unknown_arguments(const FlagSet& app, const std::vector<std::string>& extras) {
  Diagnostics problems;
  for (const std::string& extra : extras) {
    if (extra == "--") continue;  // what ended the flags
    const bool is_flag = extra.starts_with("-");
    const std::string name = extra.substr(0, extra.find('='));
    const bool known = is_flag && app.find(name).has_value();
    const std::string_view help = known     ? "'--' ends the options; write it before"
                                  : is_flag ? help_for_other(name)
                                            : "";
    const std::string near = is_flag && help.empty() ? nearest(name, flag_names(app)) : "";
    problems.push_back(
        {.code = "E101",
         .severity = Severity::kError,
         .message = fmt::format("unknown {} {}{}", is_flag && !known ? "option" : "argument",
                                shortened(name, 80),
                                near.empty() ? "" : fmt::format("; did you mean {}?", near)),
         .place = {},
         .help = std::string(help)});
    if (is_flag) break;  // what follows may be its value
  }
  return problems;
}

Diagnostics refused(std::string message) {
  if (message.ends_with(" missing"))
    message = message.substr(0, message.find(':')) + " needs a value";
  return {{.code = "E102",
           .severity = Severity::kError,
           .message = shortened(message, 200),
           .place = {},
           .help = {}}};
}

void keep_standard_descriptors() {
  for (const int fd : {0, 1, 2}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // Reading end for output and the other way round: use of it fails, as it should.
    const int opened = ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != fd) ::close(opened);
  }
}

}  // namespace plimsoll::cli
