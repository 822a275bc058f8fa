#include "graph/json/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "graph/base/escape.h"

namespace plimsoll {
namespace {

using nlohmann::json;

// Follows the parser through the text. The parser's events carry no position, so the builder walks
// along: between two events there are only spaces, commas and colons.
class Cursor {
 public:
  Cursor(std::string_view text, size_t at) : text_(text), at_(at), line_start_(at) {}

  // Moves to the next token and returns its first byte's offset.
  size_t next_token() {
    while (at_ < text_.size() && is_between(text_[at_])) step();
    return at_;
  }
  // Over part of a token, which holds no line break.
  void skip(size_t count) { at_ = std::min(at_ + count, text_.size()); }
  std::string_view number() const {
    return text_.substr(at_, text_.find_first_not_of("+-.0123456789eE", at_) - at_);
  }
  void skip_string() {
    skip(1);
    while (at_ < text_.size() && text_[at_] != '"') skip(text_[at_] == '\\' ? 2 : 1);
    skip(1);
  }
  void seek(size_t offset) {
    while (at_ < std::min(offset, text_.size())) step();
  }
  int line() const { return line_; }
  int column() const { return static_cast<int>(at_ - line_start_) + 1; }

 private:
  static bool is_between(char c) {
    return c == ' ' || c == '\n' || c == ',' || c == ':' || c == '\t' || c == '\r';
  }
  void step() {
    if (text_[at_] == '\n') {
      ++line_;
      line_start_ = at_ + 1;
    }
    ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t line_start_ = 0;
  int line_ = 1;
};

// A clearer word than the parser's own for what people really write.
std::string help_for(std::string_view text, size_t at) {
  if (at >= text.size()) return "the text ends too early: is the file complete?";
  const size_t before = text.find_last_not_of(" \t\r\n", at == 0 ? 0 : at - 1);
  if ((text[at] == ']' || text[at] == '}') && before != text.npos && text[before] == ',') {
    return "remove the comma before it";
  }
  switch (text[at]) {
    case '/':
    case '#':
      return "JSON has no comments";
    case '\'':
      return "JSON takes double quotes";
    case 'N':
    case 'I':
      return "NaN and Infinity are not JSON numbers";
    default:
      return {};
  }
}

// The parser's words without its prefix "[json.exception...] parse error at line 1, column 2: ".
std::string plain_words(std::string_view what) {
  if (const size_t at = what.find(" column "); at != what.npos) {
    if (const size_t colon = what.find(": ", at); colon != what.npos) what.remove_prefix(colon + 2);
  } else if (const size_t bracket = what.find("] "); bracket != what.npos) {
    what.remove_prefix(bracket + 2);
  }
  constexpr size_t kShown = 200;
  return shortened(what, kShown);
}

class JsonBuilder : public nlohmann::json_sax<json> {
 public:
  JsonBuilder(std::string_view text, size_t start, std::string_view file, const Limits& limits)
      : text_(text), start_(start), file_(file), limits_(limits), cursor_(text, start) {}

  bool null() override { return add_literal({}, 4); }
  bool boolean(bool value) override { return add_literal(value, value ? 4 : 5); }
  bool number_integer(number_integer_t value) override {
    return add_number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return add_number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t& /*raw*/) override {
    return add_number(value);
  }
  bool string(string_t& value) override {
    cursor_.next_token();
    if (above(value.size(), limits_.json_string)) return too_large("json-string");
    if (!add(std::move(value))) return false;
    cursor_.skip_string();
    return true;
  }
  bool binary(binary_t& /*value*/) override { return false; }  // not in JSON texts
  bool start_object(size_t /*elements*/) override { return open(JsonValue::Members{}); }
  bool start_array(size_t /*elements*/) override { return open(JsonValue::List{}); }

  bool key(string_t& value) override {
    cursor_.next_token();
    auto& members = std::get<JsonValue::Members>(open_.back().data);
    if (above(value.size(), limits_.json_string)) return too_large("json-string");
    if (above(members.size() + 1, limits_.json_keys)) return too_large("json-keys");
    members.push_back({std::move(value), cursor_.line(), cursor_.column(), {}});
    cursor_.skip_string();
    return true;
  }
  bool end_object() override { return keys_differ() && close(); }
  bool end_array() override { return close(); }

  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& fault) override {
    const std::string_view what = fault.what();
    const auto says = [&](std::string_view words) { return what.find(words) != what.npos; };
    if (done_) {
      cursor_.next_token();
      return fail("E305", fmt::format("a second value starts at byte {}; a file has one value",
                                      cursor_.next_token()));
    }
    if (says("number overflow")) {
      cursor_.next_token();
      return fail("E312", "this number is beyond 1.8e308");
    }
    // The parser counts bytes read, from 1, and one more for the end.
    const size_t at = start_ + std::max<size_t>(position, 1) - 1;
    cursor_.seek(at);
    if (says("UTF-8") || says("surrogate") || says("control character")) {
      return fail("E302", plain_words(what), "save the file as UTF-8");
    }
    return fail("E301", plain_words(what), help_for(text_, at));
  }

  Result<JsonValue> take() {
    if (fault_) return tl::make_unexpected(Diagnostics{std::move(*fault_)});
    return std::move(root_);
  }

 private:
  bool fail(std::string code, std::string message, std::string help = {}) {
    if (!fault_) {
      const Place place{std::string(file_), cursor_.line(), cursor_.column(), {}};
      fault_ =
          Diagnostic{std::move(code), Severity::kError, std::move(message), place, std::move(help)};
    }
    return false;
  }
  static bool above(size_t count, int64_t limit) { return count > static_cast<size_t>(limit); }
  bool too_large(std::string_view limit) {
    const Place place{std::string(file_), cursor_.line(), cursor_.column(), {}};
    if (!fault_) fault_ = over_limit(limits_, limit, place).value().front();
    return false;
  }

  bool add_literal(decltype(JsonValue::data) data, size_t length) {
    cursor_.next_token();
    if (!add(std::move(data))) return false;
    cursor_.skip(length);
    return true;
  }
  bool add_number(double real) {
    cursor_.next_token();
    const std::string_view raw = cursor_.number();
    const bool whole = raw.find_first_of(".eE") == raw.npos;
    if (raw == "-0") real = -0.0;  // the parser's integer has no sign then
    if (!add(JsonNumber{std::string(raw), real, whole})) return false;
    cursor_.skip(raw.size());
    return true;
  }
  bool open(decltype(JsonValue::data) data) {
    cursor_.next_token();
    if (above(open_.size() + 1, limits_.json_depth)) return too_large("json-depth");
    if (!count()) return false;
    open_.push_back({cursor_.line(), cursor_.column(), std::move(data)});
    cursor_.skip(1);
    return true;
  }
  bool close() {
    cursor_.next_token();
    cursor_.skip(1);
    JsonValue value = std::move(open_.back());
    open_.pop_back();
    place(std::move(value));
    return true;
  }
  bool count() { return !above(++values_, limits_.json_values) || too_large("json-values"); }
  bool add(decltype(JsonValue::data) data) {
    if (!count()) return false;
    place({cursor_.line(), cursor_.column(), std::move(data)});
    return true;
  }
  void place(JsonValue value) {
    if (open_.empty()) {
      root_ = std::move(value);
      done_ = true;
    } else if (auto* list = std::get_if<JsonValue::List>(&open_.back().data)) {
      list->push_back(std::move(value));
    } else {
      std::get<JsonValue::Members>(open_.back().data).back().value = std::move(value);
    }
  }

  bool keys_differ() {
    fault_ = repeated_key(std::get<JsonValue::Members>(open_.back().data), file_);
    return !fault_;
  }

  std::string_view text_;
  size_t start_;
  std::string_view file_;
  const Limits& limits_;
  Cursor cursor_;
  std::vector<JsonValue> open_;  // the objects and lists being read, outermost first
  JsonValue root_;
  size_t values_ = 0;
  bool done_ = false;
  std::optional<Diagnostic> fault_;
};

bool looks_like_utf16(std::string_view text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) return true;
  return text.size() >= 2 && ((text[0] == '\0') != (text[1] == '\0'));
}

}  // namespace

Result<JsonValue> read_json(std::string_view text, std::string_view file_name,
                            const Limits& limits) {
  const Place start{std::string(file_name), 1, 1, {}};
  if (text.size() > static_cast<size_t>(limits.json)) return over_limit(limits, "json", start);
  if (looks_like_utf16(text)) return error("E302", "is UTF-16; save it as UTF-8", start);
  const size_t skipped = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  if (text.find_first_not_of(" \t\r\n", skipped) == text.npos) {
    return error("E331", "is empty", start);
  }
  JsonBuilder builder(text, skipped, file_name, limits);
  // Without exceptions: every fault arrives in JsonBuilder::parse_error.
  json::sax_parse(text.begin() + static_cast<std::ptrdiff_t>(skipped), text.end(), &builder);
  return builder.take();
}

std::string without_infinities(std::string_view text) {
  constexpr std::string_view kWords[] = {"NaN", "-Infinity", "Infinity"};
  std::string plain;
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') quoted = !quoted;
    if (quoted && text[at] == '\\') plain += text[at++];
    const auto* const word = std::ranges::find_if(
        kWords, [&](std::string_view one) { return !quoted && text.substr(at).starts_with(one); });
    if (word == std::end(kWords)) {
      if (at < text.size()) plain += text[at];
      continue;
    }
    plain += "null";
    at += word->size() - 1;
  }
  return plain;
}

}  // namespace plimsoll
