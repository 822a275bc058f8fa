#include "graph/json/writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "graph/base/cancel.h"
#include "graph/base/escape.h"
#include "graph/json/value.h"

namespace plimsoll {
namespace {

// A lambda, for a call of it is inlined in std::all_of(); most of what is written are such bytes.
constexpr auto kIsPlain = [](char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\' && c != '<';
};

void append_string(std::string& out, std::string_view text) {
  // Nearly every key and name.
  if (std::all_of(text.begin(), text.end(), kIsPlain)) {
    out.append(1, '"').append(text).append(1, '"');
  } else {
    out.append(1, '"').append(escaped_for_json(text)).append(1, '"');
  }
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out;
  append_string(out, text);
  return out;
}

void JsonWriter::new_line() {
  if (layout_ != Layout::kIndented) return;
  out_ += '\n';
  out_.append(2 * has_values_.size(), ' ');
}

void JsonWriter::before_value() {
  if (std::exchange(after_key_, false) || has_values_.empty()) return;
  if (has_values_.back()) out_ += ',';
  has_values_.back() = true;
  new_line();
}

JsonWriter& JsonWriter::open(char bracket) {
  before_value();
  out_ += bracket;
  has_values_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  const bool had_values = !has_values_.empty() && has_values_.back();
  if (!has_values_.empty()) has_values_.pop_back();
  if (had_values) new_line();
  out_ += bracket;
  return *this;
}

template <class Number>
void JsonWriter::append(Number value) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out_.append(digits.data(), end);
}

JsonWriter& JsonWriter::begin_object() {
  check_cancelled();
  return open('{');
}
JsonWriter& JsonWriter::end_object() { return close('}'); }
JsonWriter& JsonWriter::begin_array() { return open('['); }
JsonWriter& JsonWriter::end_array() { return close(']'); }

JsonWriter& JsonWriter::key(std::string_view name) {
  before_value();
  append_string(out_, name);
  out_ += layout_ == Layout::kIndented ? ": " : ":";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::string(std::string_view text) {
  before_value();
  append_string(out_, text);
  return *this;
}

JsonWriter& JsonWriter::integer(int64_t value) {
  before_value();
  append(value);
  return *this;
}

JsonWriter& JsonWriter::real(double value) {
  if (!std::isfinite(value)) return null();
  before_value();
  append(value);
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) {
  before_value();
  out_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::null() {
  before_value();
  out_ += "null";
  return *this;
}

std::string JsonWriter::take() { return std::exchange(out_, {}); }

void write_value(JsonWriter& out, const JsonValue& value) {
  if (const auto* text = value.string()) {
    out.string(*text);
  } else if (const auto flag = value.boolean()) {
    out.boolean(*flag);
  } else if (const auto whole = value.integer()) {
    out.integer(*whole);
  } else if (const auto real = value.real()) {
    out.real(*real);
  } else if (const auto* list = value.list()) {
    out.begin_array();
    for (const JsonValue& each : *list) write_value(out, each);
    out.end_array();
  } else if (const auto* members = value.members()) {
    out.begin_object();
    for (const JsonMember& member : *members) {
      out.key(member.key);
      write_value(out, member.value);
    }
    out.end_object();
  } else {
    out.null();
  }
}

}  // namespace plimsoll
