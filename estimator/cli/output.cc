#include "estimator/cli/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "estimator/cli/flag_groups.h"
#include "estimator/cli/messages.h"
#include "estimator/cli/values.h"

namespace plimsoll::cli {
namespace {

bool is_terminal() { return !is_listened_to() && ::isatty(STDOUT_FILENO) == 1; }

size_t terminal_width() {
  constexpr size_t kUnknown = Page{}.width;
  winsize size{};
  if (!is_terminal() || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return kUnknown;
  return size.ws_col;
}

bool has_colours() {
  const char* const refused = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return is_terminal() && (!refused || *refused == '\0') && terminal &&
         std::string_view(terminal) != "dumb";
}

}  // namespace

void add_output(CLI::App& app, OutputFlags& flags, const std::string& json,
                const std::string& table) {
  const auto add = [&](const char* name, bool& into, const std::string& help) {
    app.add_flag(name, into, help)->group(rarely(kOutputGroup));
  };
  app.add_flag("--json", flags.json, json)->group(kOutputGroup);
  if (!table.empty()) {
    add("--csv", flags.csv, table + " as CSV: plain bytes and nanoseconds");
    add("--markdown", flags.markdown, table + " as a Markdown table");
  }
  add("--quiet", flags.quiet, "the answer alone");
  add("--wide", flags.wide, "lines as long as they get, nothing cut or left out");
  app.add_option("--color", flags.color, "auto, always or never")
      ->type_name("WHEN")
      ->default_str("auto")
      ->group(rarely(kOutputGroup));
}

Result<Diagnostics> check_output(const OutputFlags& flags) {
  const std::pair<const char*, bool> forms[] = {
      {"--json", flags.json}, {"--csv", flags.csv}, {"--markdown", flags.markdown}};
  const char* form = nullptr;
  for (const auto& [name, given] : forms) {
    if (!given) continue;
    if (form) return error("E114", fmt::format("{} and {} exclude each other", form, name));
    form = name;
  }
  if (auto word = parse_word("--color", flags.color, {"auto", "always", "never"}); !word)
    return tl::make_unexpected(word.error());
  Diagnostics idle;
  const std::pair<const char*, bool> of_text[] = {
      {"--quiet", flags.quiet}, {"--wide", flags.wide}, {"--color", flags.color == "always"}};
  for (const auto& [name, given] : of_text) {
    if (given && form)
      idle.push_back(warning("W516", fmt::format("{} has no effect on {}", name, form)));
  }
  return idle;
}

Page page_of(const OutputFlags& flags) {
  return {.width = flags.wide ? Page::kEndless : terminal_width(),
          .coloured = flags.color == "always" || (flags.color == "auto" && has_colours())};
}

}  // namespace plimsoll::cli
