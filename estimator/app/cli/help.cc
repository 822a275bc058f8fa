#include "estimator/app/cli/help.h"

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

std::string described(const Flag& flag, bool all) {
  std::string help = flag.description();
  const auto names = flag.long_names();
  const SettingRow* row = names.empty() ? nullptr : find_setting(names[0]);
  if (row && row->value.many && all)  // "optimizer: sgd, adam, ..." names some of them
    help = fmt::format("{}: {}", help.substr(0, help.find(':')), words_of(*row));
  if (!flag.default_text().empty()) help += fmt::format(" [{}]", flag.default_text());
  return help;
}

std::string written(const Flag& flag) {
  if (flag.is_word()) return flag.word();
  std::string text = flag.short_names().empty() ? "" : "-" + flag.short_names()[0] + ", ";
  text += "--" + flag.long_names()[0];
  return flag.placeholder().empty() || !flag.takes_value() ? text : text + " " + flag.placeholder();
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

bool is_hidden(const Flag& flag) { return flag.group_name().empty(); }
bool is_rare(const Flag& flag) { return flag.group_name().ends_with(kRareGroup); }
bool is_detail(const Flag& flag) { return flag.group_name().ends_with(kDetailGroup); }

std::string group_of(const Flag& flag) {
  std::string group = flag.group_name();
  for (const std::string_view shown : {kRareGroup, kDetailGroup}) {
    if (group.ends_with(shown)) group.resize(group.size() - shown.size());
  }
  return group;
}

// --help itself needs no line, nor do options that only scripts give.
std::vector<Flag> our_flags(const FlagSet& app) {
  std::vector<Flag> flags = app.flags();
  std::erase_if(flags, [&](const Flag& flag) { return app.is_help(flag) || is_hidden(flag); });
  return flags;
}

std::vector<std::string> groups_of(const FlagSet& app) {
  std::vector<std::string> groups;
  for (const Flag& flag : our_flags(app)) {
    if (std::ranges::find(groups, group_of(flag)) == groups.end()) groups.push_back(group_of(flag));
  }
  return groups;
}

std::string group_text(const FlagSet& app, const std::string& group, bool all, const Page& page) {
  std::string text, rare;
  for (const Flag& flag : our_flags(app)) {
    if (group_of(flag) != group || (is_detail(flag) && !all)) continue;
    if (is_rare(flag) && !all) {
      rare += " --" + flag.long_names()[0];
    } else {
      text += flag_lines(written(flag), described(flag, all), page);
    }
  }
  if (text.empty() && rare.empty()) return {};
  if (text.empty()) return "\n" + wrapped(fmt::format("{}:{}", group, rare), page, 8);
  if (!rare.empty()) text += "  " + wrapped("more:" + rare, {.width = page.width - 2}, 8);
  return fmt::format("\n{}:\n{}", group, text);
}

}  // namespace

std::string help_of(const FlagSet& app, const std::vector<std::string_view>& examples, bool all,
                    const Page& page) {
  std::string text;
  for (const std::string_view example : examples) text += fmt::format("  {}\n", example);
  if (!examples.empty()) text += "\n";
  text += paragraphs(app.description(), page);
  const std::vector<FlagSet> verbs = app.subcommands();
  if (!verbs.empty()) text += "\nVerbs:\n";
  for (const FlagSet& verb : verbs) {
    const std::string said = paragraphs(verb.description(), {.width = Page::kEndless}, false);
    text += flag_lines(verb.name(), said.substr(0, said.find_first_of(".\n")), page);
  }
  for (const std::string& group : groups_of(app)) text += group_text(app, group, all, page);
  if (!all && std::ranges::any_of(app.flags(), is_rare))
    text += "'--help-all' explains every option and lists its values.\n";
  return text;
}

}  // namespace plimsoll::cli
