// A streaming JSON writer: the caller fixes the order of keys, so the same input gives the same
// bytes. What comes out is always valid JSON in UTF-8: invalid text becomes U+FFFD, and a number
// that JSON cannot hold (NaN, infinity) becomes null.
//
//   JsonWriter out(JsonWriter::Layout::kIndented);
//   out.begin_object();
//   out.key("step_ns").integer(1250);
//   out.key("layers").objects(layers, [&](const Layer& l) { out.key("name").string(l.name); });
//   out.end_object();
//   std::string text = out.take();
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

class JsonWriter {
 public:
  enum class Layout : uint8_t { kCompact, kIndented };
  explicit JsonWriter(Layout layout = Layout::kCompact) : layout_(layout) {}

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  // Before each value of an object.
  JsonWriter& key(std::string_view name);

  JsonWriter& string(std::string_view text);
  JsonWriter& integer(int64_t value);
  // The shortest text that reads back as the same double.
  JsonWriter& real(double value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  // Null where there is none, or the text is empty.
  JsonWriter& integer(const std::optional<int64_t>& value) {
    return value ? integer(*value) : null();
  }
  JsonWriter& real(const std::optional<double>& value) { return value ? real(*value) : null(); }
  JsonWriter& string_or_null(std::string_view text) { return text.empty() ? null() : string(text); }

  // An array of texts; an array of objects, of each of which `write` writes the members.
  template <class List>
  JsonWriter& strings(const List& list) {
    begin_array();
    for (const auto& text : list) string(text);
    return end_array();
  }
  template <class List, class Write>
  JsonWriter& objects(const List& list, Write write) {
    begin_array();
    for (const auto& each : list) {
      begin_object();
      write(each);
      end_object();
    }
    return end_array();
  }

  // What has been written so far, for long outputs written in pieces; the writer goes on.
  std::string take();

 private:
  void before_value();
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void new_line();
  template <class Number>
  void append(Number value);

  Layout layout_;
  std::string out_;
  std::vector<bool> has_values_;  // of each open object and array
  bool after_key_ = false;
};

class JsonValue;
// A value that was read, in its own order; whole numbers beyond 64 bits become reals.
void write_value(JsonWriter& out, const JsonValue& value);

// The text as a JSON string with its quotes. `<` and the line separators U+2028/9 are escaped too,
// so that the JSON may stand inside an HTML script.
std::string json_string(std::string_view text);

}  // namespace plimsoll
