#include "estimator/app/cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "estimator/app/cli/arguments.h"
#include "estimator/app/cli/command_line.h"
#include "estimator/app/cli/flag_groups.h"
#include "estimator/app/cli/help.h"
#include "estimator/app/cli/messages.h"
#include "estimator/app/cli/model_name.h"
#include "estimator/app/cli/output.h"
#include "estimator/app/cli/verb.h"
#include "estimator/app/report/version.h"
#include "estimator/settings/values.h"
#include "graph/base/escape.h"
#include "graph/base/try.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kIntroduction =
    "plimsoll {} - will this training run fit on this GPU, and how fast will it be?\n\n"
    "  plimsoll estimate builtin:resnet50 --gpu rtx-4090 --batch 128\n"
    "  plimsoll max-batch model.onnx --gpu a100-80gb-sxm --precision amp-bf16\n"
    "  plimsoll advise hf:Qwen/Qwen3-8B --gpu rtx-4090 --finetune qlora\n\n"
    "Commands:\n{}"
    "'plimsoll COMMAND --help' shows examples first.\n";

std::string list_of_verbs() {
  std::string text;
  for (const VerbRow& verb : all_verbs())
    text += fmt::format("  {:<12}{}\n", verb.name, verb.summary);
  return text;
}

// --error-format decides how the command line's own errors look, so it is read before the rest.
Result<void> find_error_format(const std::vector<std::string>& arguments) {
  constexpr std::string_view kFlag = "--error-format";
  report_as_json(false);
  for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    std::string_view value = arguments[i];
    if (!value.starts_with(kFlag)) continue;
    value.remove_prefix(kFlag.size());
    if (value.starts_with("=")) {
      value.remove_prefix(1);
    } else if (value.empty() && i + 1 < arguments.size()) {
      value = arguments[i + 1];
    } else {
      continue;  // the parser complains
    }
    const auto choice = TRY(parse_word(kFlag, value, {"text", "json"}));
    report_as_json(choice == 1);
  }
  return {};
}

// "@args.txt" means a file of arguments to other tools, and here nothing.
Result<void> refuse_argument_files(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (!argument.starts_with("@")) continue;
    return error("E101",
                 fmt::format("{}: arguments are not read from files", shortened(argument, 80)), {},
                 "a model of that name is " + shell_quoted("./" + argument));
  }
  return {};
}

int unknown_command(const std::string& word) {
  std::vector<std::string> names;
  for (const VerbRow& verb : all_verbs()) names.emplace_back(verb.name);
  const std::string near = nearest(word, names);
  const bool flag = word.starts_with("-");
  const std::string model = flag || !near.empty() ? "" : model_meant(word);
  return report(
      {{.code = "E101",
        .severity = Severity::kError,
        .message = fmt::format("unknown {} {}{}", flag ? "option" : "command", shortened(word, 80),
                               near.empty() ? "" : fmt::format("; did you mean {}?", near)),
        .place = {},
        .help = flag             ? "options follow the command"
                : !model.empty() ? fmt::format("plimsoll estimate {} --gpu ID", shell_quoted(model))
                                 : "'plimsoll' lists the commands"}});
}

std::string help_of_verb(const FlagSet& app, bool all) {
  std::vector<std::string_view> examples;
  const auto verb = std::ranges::find(all_verbs(), app.name(), &VerbRow::name);
  for (const std::string_view example : verb->examples) {
    if (!example.empty()) examples.push_back(example);
  }
  return help_of(app, examples, all, page_of({}));
}

// "help VERB" is "VERB --help".
std::vector<std::string> with_help_as_flag(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments.front() != "help") return arguments;
  arguments.erase(arguments.begin());
  arguments.insert(arguments.begin() + (arguments.empty() ? 0 : 1), "--help");
  return arguments;
}

// The verb that the command line names, alone: the flags of the others need not be declared.
std::vector<Verb> make_verbs(const FlagSet& root, std::string_view named) {
  std::vector<Verb> verbs;
  for (const VerbRow& verb : all_verbs()) {
    if (verb.name != named) continue;
    verbs.push_back(verb.make(root));
    const FlagSet& app = verbs.back().app;
    app.allow_extras();
    app.add_option("--error-format", "format of messages: text, or json with one object per line")
        .type_name("FORM")
        .group(rarely(kOutputGroup));
  }
  return verbs;
}

}  // namespace

int run_command(const std::vector<std::string>& given) {
  const std::vector<std::string> arguments = with_implied_values(with_help_as_flag(given));
  remember_command("plimsoll", given);
  if (auto format = find_error_format(arguments); !format) return report(format.error());
  if (auto plain = refuse_argument_files(arguments); !plain) return report(plain.error());
  const Program root("plimsoll");
  root.set_help_flag("-h,--help", "show this");
  root.set_help_all_flag("--help-all", "show all options");
  root.set_version_flag("--version", fmt::format("plimsoll {}\n", kVersion));
  root.require_subcommand(0, 1);
  root.allow_extras();
  const std::vector<Verb> verbs = make_verbs(root, arguments.empty() ? "" : arguments.front());
  const std::string introduction =
      fmt::format(fmt::runtime(kIntroduction), kVersion, list_of_verbs());
  if (arguments.empty()) {
    std::fputs(introduction.c_str(), stderr);
    return 2;
  }
  const bool asks_of_word = given.front() == "help" && !arguments.front().starts_with("-");
  if (asks_of_word && verbs.empty()) return unknown_command(arguments.front());
  for (const Verb& v : verbs) {
    if (auto good = check_arguments(v.app, std::span(arguments).subspan(1)); !good)
      return report(good.error());
  }
  const Reading reading = root.read(arguments);
  if (reading.kind == Reading::Kind::kVersion) return print(reading.text);
  if (reading.kind == Reading::Kind::kFault) return report(refused(reading.text));
  if (reading.kind != Reading::Kind::kRun) {
    const bool all = reading.kind == Reading::Kind::kAllHelp;
    for (const Verb& v : verbs) {
      if (v.app.parsed()) return print(help_of_verb(v.app, all));
    }
    return print(introduction);
  }
  for (const Verb& v : verbs) {
    if (!v.app.parsed()) continue;
    std::vector<std::string> extras = v.app.remaining();
    const std::vector<std::string> after = root.remaining();  // "--", which ended the flags
    extras.insert(extras.end(), after.begin(), after.end());
    const Diagnostics unknown = unknown_arguments(v.app, extras);
    return unknown.empty() ? v.run() : report(unknown);
  }
  return unknown_command(arguments.front());
}

}  // namespace plimsoll::cli
