#include "estimator/app/trainer_files/key_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "estimator/settings/json_texts.h"
#include "estimator/settings/setting_row.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

using Use = TrainerKey::Use;
using Others = TrainerKey::Others;

constexpr std::string_view kFsdp = "fsdp_config";
constexpr std::string_view kFsdpPrefix = "fsdp_";

// accelerate's form of a key in fsdp_config has the prefix, transformers' has none.
std::string key_path(std::string_view above, std::string_view key) {
  if (above == kFsdp && key.starts_with(kFsdpPrefix)) key.remove_prefix(kFsdpPrefix.size());
  return above.empty() ? std::string(key) : fmt::format("{}.{}", above, key);
}

// The words of a value: of a list each, of a text those between blanks.
std::vector<std::string> words_of_value(const JsonValue& value) {
  std::vector<std::string> words;
  const auto take = [&](const JsonValue& one) {
    const std::string text = lower_case(text_of(one));
    for (const std::string_view word : split(text, ' ')) {
      if (!word.empty()) words.emplace_back(word);
    }
  };
  if (const JsonValue::List* list = value.list()) {
    std::ranges::for_each(*list, take);
  } else {
    take(value);
  }
  return words;
}

// YAML 1.1's words, which Python's reader takes for true and false (yaml.org/type/bool.html).
std::string_view as_boolean(std::string_view word) {
  if (word == "yes" || word == "on" || word == "y") return "true";
  return word == "no" || word == "off" || word == "n" ? "false" : word;
}

std::optional<std::string_view> find_word(const TrainerKey& key, std::string_view written) {
  for (const std::string_view word : {written, as_boolean(written)}) {
    const auto found = std::ranges::find(key.words, word, &TrainerWord::written);
    if (found != key.words.end()) return found->text;
  }
  return std::nullopt;
}

// A count of elements that is written as 5e8.
std::string written_text(const SettingRow& row, const JsonValue& value) {
  constexpr double kMostExact = 9007199254740992;  // 2^53
  const auto number = value.number() ? value.real() : std::nullopt;
  const bool count = row.value.type == SettingValue::Type::kCount && number && *number >= 0 &&
                     *number <= kMostExact && std::floor(*number) == *number;
  return count ? std::to_string(static_cast<int64_t>(*number)) : text_of(value);
}

bool is_single_value(const JsonValue& value) { return !value.members() && !value.list(); }

// A value with the path of its key: "optimizer._component_".
struct KeyValue {
  std::string key;
  const JsonValue& value;
};

class KeyReader {
 public:
  KeyReader(const std::string& path, const IsGiven& given, TrainerFile& into)
      : path_(path), given_(given), into_(into) {}

  // The rows of a table in its order, each where the document has its key.
  Result<void> read(const JsonValue& root) {
    std::vector<KeyValue> members;
    collect(root, "", members);
    std::vector<bool> known(members.size(), false);
    for (const std::span<const TrainerKey> keys : into_.program->keys) {
      for (const TrainerKey& key : keys) {
        for (size_t i = 0; i < members.size(); ++i) {
          if (members[i].key != key.key) continue;
          known[i] = true;
          if (!members[i].value.is_null()) TRY(read_row(key, members[i]));
        }
      }
    }
    for (size_t i = 0; i < members.size(); ++i) {
      if (!known[i] && asks_for_something(members[i].value)) into_.unused.push_back(members[i].key);
    }
    return {};
  }

 private:
  // Members of members, where a row has a key in there.
  void collect(const JsonValue& value, const std::string& above,
               std::vector<KeyValue>& into) const {
    for (const JsonMember& member : *value.members()) {
      std::string path = key_path(above, member.key);
      if (member.value.members() && has_keys_in(path)) {
        collect(member.value, path, into);
      } else {
        into.push_back({std::move(path), member.value});
      }
    }
  }

  bool has_keys_in(const std::string& path) const {
    const auto within = [&](const TrainerKey& key) {
      return key.key.size() > path.size() && key.key.starts_with(path) &&
             key.key[path.size()] == '.';
    };
    return std::ranges::any_of(into_.program->keys, [&](std::span<const TrainerKey> keys) {
      return std::ranges::any_of(keys, within);
    });
  }

  Result<void> read_row(const TrainerKey& key, const KeyValue& member) {
    switch (key.use) {
      case Use::kComposed:
      case Use::kDeepSpeed:
        return {};
      case Use::kModel:
        return read_model(member);
      case Use::kUnmodelled:
      case Use::kRefused:
        return warn_unmodelled(key, member);
      case Use::kPerUpdate:
        return read_per_update(key, member);
      case Use::kSets:
      case Use::kElse:
      case Use::kOneOf:
      case Use::kJoins:
        break;
    }
    if (given_(key.sets)) return {};
    return key.words.empty() ? read_written(key, member) : read_words(key, member);
  }

  Result<void> read_model(const KeyValue& member) {
    const std::string* const name = member.value.string();
    if (!name) return wrong_kind(member, "a text");
    into_.settings.model = *name;
    return {};
  }

  Result<void> read_per_update(const TrainerKey& key, const KeyValue& member) {
    if (!is_single_value(member.value)) return wrong_kind(member, "a number");
    const SettingRow& batch = *find_setting("batch");
    const std::string text = written_text(batch, member.value);
    if (find_word(key, text)) return {};
    constexpr TrainerKey kBatch{"", "batch"};
    TRY(check(batch, kBatch, text, member));
    into_.settings.per_update = {parse_number<int64_t>(text).value_or(0), member.key};
    return {};
  }

  Result<void> warn_unmodelled(const TrainerKey& key, const KeyValue& member) {
    if (!key.words.empty()) {
      const std::vector<std::string> words = words_of_value(member.value);
      const bool one = std::ranges::any_of(
          words, [&](const std::string& word) { return find_word(key, word).has_value(); });
      if (!one) return {};
    } else if (!asks_for_something(member.value)) {
      return {};
    }
    std::string text =
        fmt::format("{} is not modelled: {}", shortened(member.key, kQuotedColumns), key.sets);
    if (key.use == Use::kRefused)
      return error(
          "E357", std::move(text), at(member),
          "memory would be predicted too low without it; to estimate anyway, remove the key");
    into_.warnings.push_back(warning("W534", std::move(text), at(member)));
    return {};
  }

  // Words of the program, as words of the setting.
  Result<void> read_words(const TrainerKey& key, const KeyValue& member) {
    if (member.value.members()) return wrong_kind(member, "a word");
    for (const std::string& word : words_of_value(member.value)) {
      const auto known = find_word(key, word);
      if (!known && key.others == Others::kSilent) continue;
      if (!known && key.others == Others::kAsWritten) return read_written(key, member);
      if (!known) return not_modelled(key, member, word);
      if (!known->empty()) TRY(put(key, std::string(*known), member));
    }
    return {};
  }

  Result<void> read_written(const TrainerKey& key, const KeyValue& member) {
    const SettingRow* const row = find_setting(key.sets.substr(0, key.sets.find('.')));
    if (row->value.form == SettingValue::Form::kSwitch)
      return asks_for_something(member.value) ? put(key, "", member) : Result<void>();
    std::string text;
    if (const JsonValue::List* list = member.value.list()) {
      for (const JsonValue& one : *list) {
        if (!is_single_value(one)) return wrong_kind(member, "a list of names");
        text += (text.empty() ? "" : ",") + text_of(one);
      }
    } else if (member.value.members()) {
      return wrong_kind(member, "one value");
    } else {
      text = written_text(*row, member.value);
    }
    return text.empty() ? Result<void>() : put(key, std::move(text), member);
  }

  Result<void> put(const TrainerKey& key, std::string text, const KeyValue& member) {
    TrainerSettings& settings = into_.settings;
    const SettingRow* const row = find_setting(key.sets.substr(0, key.sets.find('.')));
    if (row->value.form == SettingValue::Form::kSwitch) text.clear();
    const TrainerSettings::One* const before = settings.find(key.sets);
    const bool alike = before && is_one_of(before->key, key.sets);
    if (before && (key.use == Use::kElse || (key.use == Use::kOneOf && !alike))) return {};
    if (before && key.use == Use::kJoins) text = before->text + "," + text;
    if (before && key.use != Use::kJoins && before->text != text)
      return error(
          "E114",
          fmt::format("{} is {} by {}, and {} by {}", setting(row->name),
                      shortened(before->text, kQuotedColumns), before->key,
                      shortened(text, kQuotedColumns), shortened(member.key, kQuotedColumns)),
          at(member));
    TRY(check(*row, key, text, member));
    before ? settings.replace(key.sets, std::move(text))
           : settings.add(key.sets, std::move(text), member.key);
    return {};
  }

  bool is_one_of(std::string_view name, std::string_view sets) const {
    return std::ranges::any_of(into_.program->keys, [&](std::span<const TrainerKey> keys) {
      return std::ranges::any_of(keys, [&](const TrainerKey& key) {
        return key.use == Use::kOneOf && key.key == name && key.sets == sets;
      });
    });
  }

  // Faults that the setting's reader finds, where the value stands.
  Result<void> check(const SettingRow& row, const TrainerKey& key, const std::string& text,
                     const KeyValue& member) const {
    constexpr std::string_view kOfPatterns = "*^$|\\()[]?+";
    if (row.name == "lora-targets" && text.find_first_of(kOfPatterns) != text.npos)
      return error("E357",
                   fmt::format("{} is the pattern {}; only names of modules are supported",
                               shortened(member.key, kQuotedColumns), member.value.description()),
                   at(member), "name them: " + setting(row.name, "q_proj,v_proj"));
    Request scratch;
    const size_t dot = key.sets.find('.');
    const std::string whole =
        dot == key.sets.npos ? text : fmt::format("{}={}", key.sets.substr(dot + 1), text);
    auto read = row.value.read(row, whole, scratch);
    if (read) return {};
    Diagnostics faults = std::move(read.error());
    for (Diagnostic& fault : faults) {
      fault.message = fmt::format("{}: {}", shortened(member.key, kQuotedColumns), fault.message);
      fault.place = at(member);
    }
    return tl::make_unexpected(std::move(faults));
  }

  Place at(const KeyValue& member) const {
    return {path_, member.value.line, member.value.column, {}};
  }

  tl::unexpected<Diagnostics> wrong_kind(const KeyValue& member, std::string_view wanted) const {
    return error("E311",
                 fmt::format("{} is {}, found {}", shortened(member.key, kQuotedColumns), wanted,
                             member.value.description()),
                 at(member));
  }

  tl::unexpected<Diagnostics> not_modelled(const TrainerKey& key, const KeyValue& member,
                                           const std::string& word) const {
    std::vector<std::string> words;
    for (const TrainerWord& one : key.words) words.emplace_back(one.written);
    const std::string near = nearest(word, words);
    const std::string_view name = key.sets.substr(0, key.sets.find('.'));
    return error(
        "E357",
        fmt::format("{}: {} is not modelled", shortened(member.key, kQuotedColumns),
                    shortened(word, kQuotedColumns)),
        at(member),
        fmt::format("{}{} changes it", near.empty() ? "" : fmt::format("did you mean {}? ", near),
                    setting(name)));
  }

  const std::string& path_;
  const IsGiven& given_;
  TrainerFile& into_;
};

// "amp-bf16" with DeepSpeed's copies.
std::string with_masters(const std::string& precision, bool adapters) {
  const size_t dash = precision.find('-');
  const std::string bits = dash == precision.npos ? precision : precision.substr(dash + 1);
  if (bits != "bf16" && bits != "fp16") return precision;
  return adapters ? bits : "mixed-" + bits;
}

}  // namespace

bool asks_for_something(const JsonValue& value) {
  if (value.is_null()) return false;
  if (const auto flag = value.boolean()) return *flag;
  if (const auto number = value.real()) return *number != 0;
  if (value.list()) return !value.list()->empty();
  if (value.members()) return !value.members()->empty();
  const std::string text = lower_case(*value.string());
  return !text.empty() && text != "none" && as_boolean(text) != "false";
}

Result<void> read_keys(const JsonValue& root, const std::string& path, const IsGiven& given,
                       TrainerFile& into) {
  if (!root.members())
    return error("E311", "a config is names and values, found " + root.description(),
                 {path, root.line, root.column, {}});
  return KeyReader(path, given, into).read(root);
}

Result<void> take_deepspeed(const TrainerFile& inner, const std::string& path, TrainerFile& into) {
  TrainerSettings& settings = into.settings;
  for (const TrainerSettings::One& one : inner.settings.all()) {
    const TrainerSettings::One* const before = settings.find(one.row->name);
    if (!before) {
      settings.add(one.row->name, one.text, one.key);
    } else if (one.row->name == "precision") {
      settings.replace("precision", one.text);
    } else if (before->text != one.text) {
      return error("E114",
                   fmt::format("{} is {} by {}, and {} by {}", setting(one.row->name),
                               shortened(before->text, kQuotedColumns), before->key,
                               shortened(one.text, kQuotedColumns), one.key),
                   {path, 0, 0, {}});
    }
  }
  if (inner.settings.per_update) settings.per_update = inner.settings.per_update;
  const bool adapters = settings.text("finetune").ends_with("lora");
  settings.replace("precision", with_masters(settings.text("precision"), adapters));
  into.warnings.insert(into.warnings.end(), inner.warnings.begin(), inner.warnings.end());
  for (const std::string& text : inner.settings.notes()) settings.add_note(text);
  for (const std::string& key : inner.unused) into.unused.push_back("deepspeed." + key);
  return {};
}

}  // namespace plimsoll
