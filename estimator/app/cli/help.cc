#include "estimator/app/cli/help.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "estimator/app/cli/flag_groups.h"
#include "estimator/settings/setting_row.h"

namespace plimsoll::cli {
namespace {

constexpr size_t kHelpColumn = 26;

// "--batch N" and what it does, broken where the page ends.
std::string flag_lines(std::string flag, const std::string& help, const Page& page) {
  flag = "  " + flag;
  const std::string space = columns_of(flag) + 2 > kHelpColumn
                                ? "\n" + std::string(kHelpColumn, ' ')
                                : std::string(kHelpColumn - columns_of(flag), ' ');
  const Page beside{.width = page.width == Page::kEndless ? page.width : page.width - kHelpColumn};
  std::string text = wrapped(help, beside, 0);
  for (size_t at = text.find('\n'); at + 1 < text.size(); at = text.find('\n', at + 1))
    text.insert(at + 1, kHelpColumn, ' ');
  return flag + space + text;
}

std::string described(const CLI::Option& option, bool all) {
  std::string help = option.get_description();
  const SettingRow* row =
      option.get_lnames().empty() ? nullptr : find_setting(option.get_lnames()[0]);
  if (row && row->value.many && all) help += ": " + words_of(*row);
  if (!option.get_default_str().empty()) help += fmt::format(" [{}]", option.get_default_str());
  return help;
}

std::string written(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  std::string text = option.get_snames().empty() ? "" : "-" + option.get_snames()[0] + ", ";
  text += "--" + option.get_lnames()[0];
  return option.get_type_name().empty() || option.get_expected_min() == 0
             ? text
             : text + " " + option.get_type_name();
}

// A description as it is declared: paragraphs, broken anew, and examples, which begin with spaces
// and stay as they are.
std::string paragraphs(const std::string& description, const Page& page, bool examples = true) {
  std::string text, paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) text += wrapped(paragraph, page, 0);
    paragraph.clear();
  };
  std::istringstream in(description);
  for (std::string line; std::getline(in, line);) {
    const bool example = line.starts_with("  ");
    if (!line.empty() && !example) {
      paragraph += (paragraph.empty() ? "" : " ") + line;
      continue;
    }
    end_paragraph();
    if (examples) text += line + "\n";
  }
  end_paragraph();
  return text;
}

bool is_rare(const CLI::Option& option) { return option.get_group().ends_with(kRareGroup); }

std::string group_of(const CLI::Option& option) {
  const std::string& group = option.get_group();
  return is_rare(option) ? group.substr(0, group.size() - kRareGroup.size()) : group;
}

// --help itself needs no line.
bool is_ours(const CLI::App& app, const CLI::Option* option) {
  return option != app.get_help_ptr() && option != app.get_help_all_ptr();
}

std::vector<std::string> groups_of(const CLI::App& app) {
  std::vector<std::string> groups;
  for (const CLI::Option* option : app.get_options()) {
    if (is_ours(app, option) && std::ranges::find(groups, group_of(*option)) == groups.end())
      groups.push_back(group_of(*option));
  }
  return groups;
}

std::string group_text(const CLI::App& app, const std::string& group, bool all, const Page& page) {
  std::string text, rare;
  for (const CLI::Option* option : app.get_options()) {
    if (!is_ours(app, option) || group_of(*option) != group) continue;
    if (is_rare(*option) && !all) {
      rare += " --" + option->get_lnames()[0];
    } else {
      text += flag_lines(written(*option), described(*option, all), page);
    }
  }
  if (text.empty()) return "\n" + wrapped(fmt::format("{}:{}", group, rare), page, 8);
  if (!rare.empty()) text += "  " + wrapped("more:" + rare, {.width = page.width - 2}, 8);
  return fmt::format("\n{}:\n{}", group, text);
}

}  // namespace

std::string help_of(const CLI::App& app, const std::vector<std::string_view>& examples, bool all,
                    const Page& page) {
  std::string text;
  for (const std::string_view example : examples) text += fmt::format("  {}\n", example);
  if (!examples.empty()) text += "\n";
  text += paragraphs(app.get_description(), page);
  const auto verbs = app.get_subcommands([](const CLI::App*) { return true; });
  if (!verbs.empty()) text += "\nVerbs:\n";
  for (const CLI::App* verb : verbs) {
    const std::string said = paragraphs(verb->get_description(), {.width = Page::kEndless}, false);
    text += flag_lines(verb->get_name(), said.substr(0, said.find_first_of(".\n")), page);
  }
  for (const std::string& group : groups_of(app)) text += group_text(app, group, all, page);
  if (!all && std::ranges::any_of(app.get_options(),
                                  [](const CLI::Option* option) { return is_rare(*option); }))
    text += "'--help-all' lists every option and its values.\n";
  return text;
}

void use_help(CLI::App& app) {
  app.formatter_fn([](const CLI::App* asked, const std::string&, CLI::AppFormatMode) {
    return help_of(*asked, {}, true, {});
  });
}

}  // namespace plimsoll::cli
