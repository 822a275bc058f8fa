// The plimsoll command.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>

#include "estimator/cli/verb.h"
#include "estimator/report/json.h"
#include "estimator/report/text.h"
#include "estimator/report/version.h"
#include "graph/base/escape.h"

namespace plimsoll::cli {

int report(const Diagnostics& diagnostics, bool as_json) {
  constexpr size_t kMostShown = 20;
  std::string text;
  for (size_t i = 0; i < diagnostics.size() && i < kMostShown; ++i) {
    text += as_json
                ? to_json(diagnostics[i])
                : (diagnostics[i].place.file.empty() ? "plimsoll: " : "") + to_text(diagnostics[i]);
  }
  if (diagnostics.size() > kMostShown && !as_json) {
    text += fmt::format("plimsoll: and {} more\n", diagnostics.size() - kMostShown);
  }
  std::fputs(text.c_str(), stderr);
  return exit_status(diagnostics);
}

int print(const std::string& text, int status) {
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

namespace {

constexpr const char* kIntroduction =
    "plimsoll {} - will this training run fit on this GPU, and how fast will it be?\n\n"
    "  plimsoll estimate builtin:resnet50 --gpu quadro-p4000 --batch 32\n"
    "  plimsoll max-batch model.onnx --gpu a100-80gb-sxm --precision amp-bf16\n\n"
    "commands: estimate  max-batch  compare  validate  workspace\n"
    "          gpus  links  frameworks  models  ops  explain  schema  version\n"
    "'plimsoll COMMAND --help' shows its flags.\n";

// A standard descriptor that the caller closed would be taken by the first file we open.
void keep_standard_descriptors() {
  for (const int fd : {0, 1, 2}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // Reading end for output and the other way round: use of it fails, as it should.
    const int opened = ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != fd) ::close(opened);
  }
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

Diagnostics unknown_arguments(const CLI::App& app, const std::vector<std::string>& extras) {
  Diagnostics problems;
  for (const std::string& extra : extras) {
    const bool is_flag = extra.starts_with("-");
    const std::string name = extra.substr(0, extra.find('='));
    const std::string near = is_flag ? nearest(name, flag_names(app)) : "";
    problems.push_back(
        {.code = "E101",
         .severity = Severity::kError,
         .message = fmt::format("unknown {} {}{}", is_flag ? "flag" : "argument",
                                escape_for_terminal(name, 80),
                                near.empty() ? "" : fmt::format("; did you mean {}?", near)),
         .place = {},
         .help = {}});
    if (is_flag) break;  // what follows may be its value
  }
  return problems;
}

int run(int argc, char** argv) {
  CLI::App root{"plimsoll"};
  root.set_help_flag("-h,--help", "show this");
  root.require_subcommand(0, 1);
  root.allow_extras(true);
  root.prefix_command(false);
  const std::array makers = {make_estimate,  make_max_batch, make_validate, make_compare,
                             make_workspace, make_gpus,      make_links,    make_frameworks,
                             make_models,    make_ops,       make_schema,   make_version};
  std::vector<Verb> verbs;
  for (const auto make : makers) verbs.push_back(make(root));
  for (const Verb& v : verbs) v.app->allow_extras(true);
  if (argc < 2) {
    std::fputs(fmt::format(fmt::runtime(kIntroduction), kVersion).c_str(), stderr);
    return 2;
  }
  try {
    root.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    for (const Verb& v : verbs) {
      if (v.app->parsed()) return print(v.app->help());
    }
    return print(fmt::format(fmt::runtime(kIntroduction), kVersion));
  } catch (const CLI::ParseError& e) {
    return report({{.code = "E102",
                    .severity = Severity::kError,
                    .message = e.what(),
                    .place = {},
                    .help = {}}});
  }
  for (const Verb& v : verbs) {
    if (!v.app->parsed()) continue;
    if (const auto extras = v.app->remaining(); !extras.empty()) {
      return report(unknown_arguments(*v.app, extras));
    }
    return v.run();
  }
  std::vector<std::string> names;
  for (const Verb& v : verbs) names.push_back(v.app->get_name());
  const std::string word = argv[1];
  const std::string near = nearest(word, names);
  return report(
      {{.code = "E101",
        .severity = Severity::kError,
        .message = fmt::format("unknown command {}{}", escape_for_terminal(word, 80),
                               near.empty() ? "" : fmt::format("; did you mean {}?", near)),
        .place = {},
        .help = {}}});
}

}  // namespace
}  // namespace plimsoll::cli

int main(int argc, char** argv) {
  if (::getuid() != ::geteuid() || ::getgid() != ::getegid()) {
    std::fputs("plimsoll: error: refuses to run with another user's rights [E107]\n", stderr);
    return 2;
  }
  plimsoll::cli::keep_standard_descriptors();
  try {
    return plimsoll::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("plimsoll: error: out of memory [E801]\n", stderr);
    return 5;
  } catch (const std::exception& e) {
    std::fprintf(stderr,
                 "plimsoll: a bug of ours: %s [E901]; please report it with the command line\n",
                 e.what());
    return 70;
  }
}
