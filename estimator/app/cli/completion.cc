#include "estimator/app/cli/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/app/cli/flag_groups.h"
#include "estimator/app/cli/python_keywords.h"
#include "estimator/app/cli/verb.h"
#include "estimator/model/model_source.h"
#include "estimator/model/request_names.h"
#include "estimator/settings/setting_row.h"
#include "estimator/settings/values.h"
#include "graph/builtin/builtin.h"
#include "graph/family/family.h"
#include "graph/ops/op_row.h"
#include "hwdb/hwdb.h"

namespace plimsoll::cli {
namespace {

using Words = std::vector<std::string>;

Words builtin_names(const std::string& prefix) {
  Words names;
  for (const BuiltinRow& row : builtin_models()) names.push_back(prefix + row.name);
  return names;
}

Words with_published(Words names) {
  for (const std::string& name : published_models()) names.push_back("hf:" + name);
  return names;
}

// "NAME=" of what the model named so far leaves open, or of what --set changes.
Words sizes_of(const Words& words, bool fixed) {
  const auto model = std::ranges::find_if(words, [](const std::string& word) {
    return word.starts_with("builtin:") || word.starts_with("hf:") || word.ends_with(".onnx") ||
           word.ends_with(".json");
  });
  if (model == words.end()) return {};
  Request request;
  request.model = *model;
  const auto loaded = load_model_inputs(request);
  if (!loaded) return {};
  const ModelNames names = names_of(*loaded);
  Words sizes;
  for (const std::string& name : fixed ? names.fixed : names.dims) sizes.push_back(name + "=");
  return sizes;
}

// What a flag's value may be.
Words values_of(const std::string& flag, const Words& words) {
  if (flag == "dim" || flag == "longest") return sizes_of(words, false);
  if (flag == "set") return sizes_of(words, true);
  const auto hwdb = Hwdb::open();
  if (hwdb && flag == "gpu") return hwdb->device_ids();
  if (hwdb && flag == "host") return hwdb->host_ids();
  if (hwdb && flag == "link") return hwdb->link_ids();
  if (hwdb && flag == "framework") return hwdb->framework_ids();
  if (flag == "model") return with_published(builtin_names("builtin:"));
  const SettingRow* row = find_setting(flag);
  return row && row->value.words ? row->value.words() : Words();
}

// What a verb's word without a flag may be.
Words subjects_of(std::string_view verb) {
  const auto hwdb = Hwdb::open();
  if (verb == "gpus" && hwdb) return hwdb->device_ids();
  if (verb == "hosts" && hwdb) return hwdb->host_ids();
  if (verb == "links" && hwdb) return hwdb->link_ids();
  if (verb == "frameworks" && hwdb) return hwdb->framework_ids();
  if (verb == "models") return with_published(builtin_names(""));
  if (verb == "completion") return {"bash", "zsh", "fish"};
  if (verb == "ops") {
    Words names;
    for (const OpRow* row : all_ops()) names.emplace_back(row->name);
    return names;
  }
  constexpr std::string_view kOfModels[] = {"estimate", "max-batch", "advise", "compare",
                                            "explain"};
  return std::ranges::find(kOfModels, verb) == std::end(kOfModels)
             ? Words()
             : with_published(builtin_names("builtin:"));
}

}  // namespace

namespace {

// Of one verb, or of a program without any: values after a flag that takes one, flags where a dash
// is written, else `subjects`.
Words words_after(const FlagSet& app, const Words& words, const Words& subjects) {
  const std::string before = words.size() < 2 ? "" : words[words.size() - 2];
  const auto flag = before.starts_with("--") ? app.find(before) : std::nullopt;
  if (flag && flag->takes_value()) return values_of(before.substr(2), words);
  if (words.empty() || !words.back().starts_with("-")) return subjects;
  Words flags;
  for (const Flag& option : app.flags()) {
    for (const std::string& name : option.long_names()) flags.push_back("--" + name);
  }
  return flags;
}

Words begun_as(Words candidates, const Words& words) {
  const std::string begun = words.empty() ? "" : words.back();
  std::erase_if(candidates, [&](const std::string& word) { return !word.starts_with(begun); });
  return candidates;
}

}  // namespace

Words completions(const Words& words) {
  if (words.size() < 2) {
    Words verbs;
    for (const VerbRow& verb : all_verbs()) verbs.emplace_back(verb.name);
    return begun_as(verbs, words);
  }
  const auto verb = std::ranges::find(all_verbs(), words.front(), &VerbRow::name);
  if (verb == all_verbs().end()) return {};
  const Program root("");
  root.set_help_flag("-h,--help", "");
  const FlagSet app = verb->make(root).app;
  return begun_as(words_after(app, words, subjects_of(words.front())), words);
}

Words completions(const FlagSet& app, const Words& words) {
  const std::vector<FlagSet> verbs = app.subcommands();
  if (verbs.empty()) return begun_as(words_after(app, words, {}), words);
  Words names;
  for (const FlagSet& verb : verbs) {
    names.push_back(verb.name());
    if (words.size() > 1 && words.front() == verb.name())
      return begun_as(words_after(verb, words, {}), words);
  }
  return words.size() > 1 ? Words() : begun_as(words_after(app, words, names), words);
}

std::optional<Words> asked_words(const Words& arguments) {
  constexpr std::string_view kAsked[] = {"completion", "words", "--"};
  if (arguments.size() < std::size(kAsked) ||
      !std::equal(std::begin(kAsked), std::end(kAsked), arguments.begin()))
    return std::nullopt;
  return Words(arguments.begin() + std::size(kAsked), arguments.end());
}

int print_words(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += word + "\n";
  return print(text);
}

namespace {

struct Shell {
  std::string_view name, script;
};

// Each asks the program itself, so that what it offers is what it has. A file is offered where the
// program offers nothing.
constexpr Shell kShells[] = {
    {"bash", R"(# plimsoll completion bash > ~/.local/share/bash-completion/completions/plimsoll
_plimsoll() {
  local cur words cword
  if declare -F _get_comp_words_by_ref > /dev/null; then
    _get_comp_words_by_ref -n : cur words cword
  else
    words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]}
  fi
  mapfile -t COMPREPLY < <("${words[0]}" completion words -- "${words[@]:1:cword}" 2> /dev/null)
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
  declare -F __ltrim_colon_completions > /dev/null && __ltrim_colon_completions "$cur"
}
complete -o default -F _plimsoll plimsoll plimsoll-calibrate plimsoll-monitor
)"},
    {"zsh", R"(#compdef plimsoll plimsoll-calibrate plimsoll-monitor
# plimsoll completion zsh > "${fpath[1]}/_plimsoll"
_plimsoll() {
  local -a offered
  offered=("${(@f)$("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2> /dev/null)}")
  [[ -n "${offered[1]}" ]] && compadd -Q -- "${offered[@]}" || _files
}
compdef _plimsoll plimsoll plimsoll-calibrate plimsoll-monitor
)"},
    {"fish", R"(# plimsoll completion fish > ~/.config/fish/completions/plimsoll.fish
function __plimsoll_words
  set -l words (commandline -opc) (commandline -ct)
  $words[1] completion words -- $words[2..-1] 2> /dev/null
end
for program in plimsoll plimsoll-calibrate plimsoll-monitor
  complete -c $program -a '(__plimsoll_words)'
end
)"},
};

int run_completion(const std::string& shell, const std::vector<std::string>& words) {
  if (shell == "words") return print_words(completions(words));
  if (shell == "python") return print(python_keywords());  // asked by the package's build
  std::vector<std::string> names;
  for (const Shell& s : kShells) names.emplace_back(s.name);
  const auto index = parse_word("completion", shell, names);
  return index ? print(std::string(kShells[*index].script)) : report(index.error());
}

}  // namespace

Verb make_completion(const FlagSet& root) {
  struct Flags {
    std::string shell;
    std::vector<std::string> words;
  };
  auto flags = std::make_shared<Flags>();
  FlagSet app = root.add_subcommand(
      "completion",
      "A script that completes commands, options, GPUs, models and their dimensions.");
  app.add_option("shell", flags->shell, "bash, zsh or fish").group(kVerbGroup);
  app.add_option("words", flags->words).group("");
  return {app, [flags] { return run_completion(flags->shell, flags->words); }};
}

}  // namespace plimsoll::cli
