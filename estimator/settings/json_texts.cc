#include "estimator/settings/json_texts.h"

#include <fmt/format.h>

#include "graph/base/text.h"

namespace plimsoll {
namespace {

using Texts = std::vector<std::string>;

// "0.01" and "true" are weight decay, "0" and "false" none.
Result<Texts> switched(std::string_view called, const JsonValue& value) {
  std::optional<bool> on = value.boolean();
  if (const auto number = value.real()) on = *number > 0;
  if (const std::string* text = value.string(); text && (*text == "on" || *text == "off"))
    on = *text == "on";
  if (!on)
    return error("E103", fmt::format("{} is true or false, found {}", called, value.description()));
  return *on ? Texts{""} : Texts{};
}

// "backbone.*, head.*"; "none" is no rule.
Texts globs(const std::string& text) {
  Texts all;
  if (text == "none") return all;
  for (const std::string_view pattern : split(text, ',')) all.emplace_back(trimmed(pattern));
  return all;
}

}  // namespace

std::string text_of(const JsonValue& value) {
  if (const std::string* text = value.string()) return *text;
  if (const JsonNumber* number = value.number()) return number->text;
  return value.boolean().value_or(false) ? "true" : "false";
}

Result<Texts> texts_of(const SettingRow& row, std::string_view called, const JsonValue& value) {
  if (value.is_null()) return Texts();
  const bool bare = row.value.implied && value.boolean();
  if (row.value.form == SettingValue::Form::kSwitch) return switched(called, value);
  if (bare) return *value.boolean() ? Texts{row.value.implied} : Texts();
  Texts texts;
  if (row.value.form == SettingValue::Form::kEntries) {
    if (!value.members())
      return error("E103", fmt::format("{} takes names and their values, found {}", called,
                                       value.description()));
    for (const JsonMember& member : *value.members())
      texts.push_back(fmt::format("{}={}", member.key, text_of(member.value)));
    return texts;
  }
  if (row.value.form == SettingValue::Form::kSeveral && value.list()) {
    for (const JsonValue& one : *value.list()) texts.push_back(text_of(one));
    return texts;
  }
  if (row.value.type == SettingValue::Type::kGlob) return globs(text_of(value));
  const auto on = value.boolean();  // YAML's tools write true where flags say on
  return Texts{on ? (*on ? "on" : "off") : text_of(value)};
}

}  // namespace plimsoll
