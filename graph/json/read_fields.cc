#include "graph/json/read_fields.h"

#include <fmt/format.h>

#include "graph/json/writer.h"

namespace plimsoll {

bool ReadFields::begin(std::string_view key, const FieldNote& note, bool derived) {
  value_ = object().optional(key);
  if (!value_ && (note.absent_where || derived)) return false;
  if (value_ && value_->is_null() && note.null_where) return false;
  key_ = key;
  const bool is_entry = !inner_.empty() && inner_.back().of_entries;
  note_ = is_entry ? *inner_.back().of_entries : note;
  return true;
}

bool ReadFields::is_missing(std::string_view example) {
  if (!value_) object().required(key_, example);
  return !value_;
}

void ReadFields::boolean(bool& value) {
  if (is_missing("true")) return;
  value = object().boolean_in(*value_, key_).value_or(value);
}

void ReadFields::integer(int64_t& value) {
  if (is_missing("1")) return;
  IntegerRange range;
  if (!note_.any_sign) range.low = 0;
  if (note_.low) range.low = static_cast<int64_t>(*note_.low);
  if (note_.high) range.high = static_cast<int64_t>(*note_.high);
  value = object().integer_in(*value_, key_, range).value_or(value);
}

void ReadFields::real(double& value) {
  if (is_missing("1.0")) return;
  RealRange range;
  if (note_.low) range.low = *note_.low;
  if (note_.high) range.high = *note_.high;
  value = object().real_in(*value_, key_, range).value_or(value);
}

void ReadFields::text(std::string& value) {
  if (!note_.words.empty()) {
    value = word(value, note_.words);
  } else if (!is_missing("\"...\"")) {
    value = object().text_in(*value_, key_).value_or(value);
  }
}

const std::string* ReadFields::quoted() {
  if (is_missing("\"...\"")) return nullptr;
  object().text_in(*value_, key_);
  return value_->string();
}

void ReadFields::fault(const Diagnostic& wrong) {
  object().fail(wrong.code, wrong.message, *value_, wrong.help);
}

void ReadFields::raw(std::string& json) {
  if (is_missing("{...}")) return;
  JsonWriter out;
  write_value(out, *value_);
  json = out.take();
}

void ReadFields::any(JsonValue& value) {
  if (!is_missing({})) value = *value_;
}

void ReadFields::written(const JsonValue*& value) {
  if (!is_missing(note_.example)) value = value_;
}

std::string_view ReadFields::word(std::string_view word, std::span<const std::string_view> all) {
  if (is_missing(fmt::format("\"{}\"", all.front()))) return word;
  const auto found =
      object().choice_in(*value_, key_, std::vector<std::string>(all.begin(), all.end()));
  for (const std::string_view each : all) {
    if (found && each == *found) return each;
  }
  return word;
}

bool ReadFields::begin_form(std::string_view key, bool with_key, bool) {
  return object().has(key) == with_key;
}

bool ReadFields::some(bool) {
  if (is_missing({})) return false;
  return !value_->is_null() || (note_.absent_where && !note_.null_where);
}

void ReadFields::open_object() {
  // One that is missing has no members that are missing too.
  inner_.push_back({value_ ? JsonObject(*value_, object().file(), object().faults())
                           : object().required_object(key_)});
}

void ReadFields::close_object() {
  object().finish();
  inner_.pop_back();
}

size_t ReadFields::open_list(size_t size, bool fixed) {
  static const JsonValue::List kNothing;
  const JsonValue::List* list = is_missing("[...]") ? nullptr : object().list_in(*value_, key_);
  if (list && fixed && list->size() != size) {
    object().fail("E312", fmt::format("\"{}\" has {} elements", key_, size), *value_);
    list = nullptr;
  }
  lists_.push_back(list ? list : &kNothing);
  return lists_.back()->size();
}

std::vector<std::string> ReadFields::open_map() {
  const FieldNote note = note_;
  open_object();
  inner_.back().of_entries = note;
  std::vector<std::string> keys;
  for (const JsonMember& member : object().members()) keys.push_back(member.key);
  return keys;
}

}  // namespace plimsoll
