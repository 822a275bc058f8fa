#include "graph/json/schema_fields.h"

#include <utility>

namespace plimsoll {

std::string json_schema(std::string_view title, std::string_view description,
                        const std::vector<std::function<void(Fields&)>>& forms) {
  JsonWriter out(JsonWriter::Layout::kIndented);
  SchemaFields fields(out);
  out.begin_object();
  out.key("$schema").string("http://json-schema.org/draft-07/schema#");
  out.key("title").string(title);
  if (!description.empty()) out.key("description").string(description);
  if (forms.size() == 1) {
    forms.front()(fields);
  } else {
    out.key("anyOf").begin_array();
    for (const auto& describe : forms) {
      out.begin_object();
      describe(fields);
      out.end_object();
    }
    out.end_array();
  }
  return out.end_object().take() + "\n";
}

bool SchemaFields::begin(std::string_view key, const FieldNote& note, bool) {
  if (!open_.empty() && !note.absent_where) {
    Open& object = open_.back();
    (object.in_form ? object.forms.back() : object.required).emplace_back(key);
  }
  out_.key(key).begin_object();
  if (!note.meaning.empty()) out_.key("description").string(note.meaning);
  note_ = note;
  nullable_ = note.null_where.has_value();
  return true;
}

void SchemaFields::end() { out_.end_object(); }

void SchemaFields::type(std::string_view type) {
  out_.key("type");
  if (std::exchange(nullable_, false)) {
    out_.begin_array().string(type).string("null").end_array();
  } else {
    out_.string(type);
  }
}

void SchemaFields::bounds(double low) {
  const auto write = [&](std::string_view key, double bound) {
    out_.key(key);
    bound == static_cast<double>(static_cast<int64_t>(bound))
        ? out_.integer(static_cast<int64_t>(bound))
        : out_.real(bound);
  };
  if (low > -1e18) write("minimum", low);
  if (note_.high) write("maximum", *note_.high);
}

void SchemaFields::integer(int64_t&) {
  type("integer");
  bounds(note_.low.value_or(note_.any_sign ? -1e19 : 0));
}

void SchemaFields::real(double&) {
  type("number");
  bounds(note_.low.value_or(-1e19));
}

void SchemaFields::words(std::span<const std::string_view> all) {
  out_.key("enum").begin_array();
  for (const std::string_view each : all) out_.string(each);
  if (std::exchange(nullable_, false)) out_.null();
  out_.end_array();
}

void SchemaFields::text(std::string&) {
  if (!note_.words.empty()) return words(note_.words);
  type("string");
  if (!note_.pattern.empty()) out_.key("pattern").string(note_.pattern);
}

const std::string* SchemaFields::quoted() {
  std::string any;
  text(any);
  return nullptr;
}

void SchemaFields::written(const JsonValue*&) {
  if (!note_.form.empty()) out_.key("$ref").string("#/$defs/" + std::string(note_.form));
}

std::string_view SchemaFields::word(std::string_view word, std::span<const std::string_view> all) {
  words(all);
  return word;
}

bool SchemaFields::some(bool) {
  // One that may be absent is left out instead.
  nullable_ = note_.null_where || !note_.absent_where;
  return true;
}

void SchemaFields::open_object() {
  type("object");
  out_.key("properties").begin_object();
  open_.emplace_back();
}

bool SchemaFields::begin_form(std::string_view, bool, bool) {
  open_.back().in_form = true;
  open_.back().forms.emplace_back();
  return true;
}

void SchemaFields::close_object() {
  out_.end_object();
  const Open& object = open_.back();
  out_.key("required").strings(object.required);
  if (!object.forms.empty()) {
    out_.key("oneOf").objects(object.forms, [&](const std::vector<std::string>& required) {
      out_.key("required").strings(required);
    });
  }
  out_.key("additionalProperties").boolean(false);
  open_.pop_back();
}

size_t SchemaFields::open_list(size_t size, bool fixed) {
  type("array");
  const size_t least = fixed ? size : note_.least;
  if (least > 0) out_.key("minItems").integer(static_cast<int64_t>(least));
  if (fixed) out_.key("maxItems").integer(static_cast<int64_t>(size));
  out_.key("items").begin_object();
  return 1;
}

std::vector<std::string> SchemaFields::open_map() {
  type("object");
  out_.key("additionalProperties").begin_object();
  return {};
}

}  // namespace plimsoll
