#include "estimator/app/cli/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "estimator/app/cli/flag_groups.h"
#include "estimator/app/cli/messages.h"
#include "estimator/settings/values.h"
#include "graph/base/try.h"

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

void add_output(const FlagSet& app, OutputFlags& flags, const std::string& json,
                const std::string& table) {
  const auto add = [&](const std::string& name, bool& into, const std::string& help) {
    app.add_flag(name, into, help).group(rarely(kOutputGroup));
  };
  app.add_flag("--json", flags.json, json).group(kOutputGroup);
  if (!table.empty()) {
    for (const TableForm& form : table_forms())
      add(fmt::format("--{}", form.name), flags.tables[form.name],
          fmt::format("{} {}", table, form.help));
  }
  add("--quiet", flags.quiet, "only the answer");
  add("--wide", flags.wide, "all columns, nothing cut");
  app.add_option("--color", flags.color, "auto, always or never")
      .type_name("WHEN")
      .default_str("auto")
      .group(rarely(kOutputGroup));
}

void add_list_output(const FlagSet& app, OutputFlags& flags, const std::string& table) {
  app.add_flag("--json", flags.json, "print the result as JSON");
  add_table_forms(app, flags, table);
}

void add_table_forms(const FlagSet& app, OutputFlags& flags, const std::string& table) {
  for (const TableForm& form : table_forms())
    app.add_flag(fmt::format("--{}", form.name), flags.tables[form.name],
                 fmt::format("{} {}", table, form.help));
  app.add_flag("--wide", flags.wide, "all columns, nothing cut");
}

int print_table(const Table& table, const OutputFlags& flags, const std::string& after) {
  if (const auto good = check_output(flags); !good) return report(good.error());
  const TableForm* const form = flags.table();
  return print(form ? (table.*form->write)() : table.text(page_of(flags)) + after);
}

const TableForm* OutputFlags::table() const {
  for (const TableForm& form : table_forms()) {
    const auto asked = tables.find(form.name);
    if (asked != tables.end() && asked->second) return &form;
  }
  return nullptr;
}

Result<Diagnostics> check_output(const OutputFlags& flags) {
  std::vector<std::string_view> forms;  // asked for
  if (flags.json) forms.emplace_back("json");
  for (const auto& [name, given] : flags.tables) {
    if (given) forms.push_back(name);
  }
  if (forms.size() > 1)
    return error("E114", fmt::format("--{} and --{} exclude each other", forms[0], forms[1]));
  TRY(parse_word("--color", flags.color, {"auto", "always", "never"}));
  Diagnostics idle;
  const std::pair<const char*, bool> of_text[] = {
      {"--quiet", flags.quiet}, {"--wide", flags.wide}, {"--color", flags.color == "always"}};
  for (const auto& [name, given] : of_text) {
    if (given && !forms.empty())
      idle.push_back(warning("W516", fmt::format("{} has no effect on --{}", name, forms[0])));
  }
  return idle;
}

Page page_of(const OutputFlags& flags) {
  return {.width = flags.wide ? Page::kEndless : terminal_width(),
          .coloured = flags.color == "always" || (flags.color == "auto" && has_colours())};
}

}  // namespace plimsoll::cli
