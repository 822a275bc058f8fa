#include "graph/json/json_fields.h"

#include "graph/json/reader.h"

namespace plimsoll {

bool JsonFields::begin(std::string_view key, const FieldNote& note, bool) {
  if (note.absent_where.value_or(false)) return false;
  out_.key(key);
  settings_ = note.settings;
  if (!note.null_where.value_or(false)) return true;
  out_.null();
  return false;
}

void JsonFields::text(std::string& value) {
  settings_&& spell_ ? out_.string(spell_(value)) : out_.string(value);
}

void JsonFields::raw(std::string& json) {
  const auto value = read_json(json, "");
  value ? write_value(out_, *value) : static_cast<void>(out_.null());
}

std::string_view JsonFields::word(std::string_view word, std::span<const std::string_view>) {
  out_.string(word);
  return word;
}

bool JsonFields::some(bool has) {
  if (!has) out_.null();
  return has;
}

size_t JsonFields::open_list(size_t size, bool) {
  out_.begin_array();
  return size;
}

std::vector<std::string> JsonFields::open_map() {
  out_.begin_object();
  return {};
}

}  // namespace plimsoll
