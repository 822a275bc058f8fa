#include "graph/json/yaml_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <charconv>
#include <sstream>

#include "graph/base/escape.h"

namespace plimsoll {
namespace {

struct Refused {
  Diagnostics why;
};

constexpr std::string_view kDigits = "0123456789";

size_t digits_from(std::string_view text, size_t at) {
  const size_t end = text.find_first_not_of(kDigits, at);
  return (end == text.npos ? text.size() : end) - at;
}

// Whether JSON writes numbers so; and whether this one is whole.
struct NumberForm {
  bool valid = false, whole = true;
};
NumberForm number_form(std::string_view text) {
  NumberForm form;
  size_t at = text.starts_with('-') ? 1 : 0;
  const size_t integer = digits_from(text, at);
  if (integer == 0 || (integer > 1 && text[at] == '0')) return form;
  at += integer;
  if (at < text.size() && text[at] == '.') {
    const size_t fraction = digits_from(text, at + 1);
    if (fraction == 0) return form;
    at += 1 + fraction;
    form.whole = false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const size_t exponent = digits_from(text, at);
    if (exponent == 0) return form;
    at += exponent;
    form.whole = false;
  }
  form.valid = at == text.size();
  return form;
}

class YamlBuilder : public YAML::EventHandler {
 public:
  YamlBuilder(std::string_view file, const Limits& limits) : file_(file), limits_(limits) {}

  bool has_value() const { return done_; }
  JsonValue take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (done_) refuse(mark, "E350", "a second document starts here; a file has one document");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(mark, {});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    refuse(mark, "E350", "aliases are not read: write the value again");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    refuse_anchor(mark, anchor);
    const bool plain = tag == "?";
    if (!plain && tag != "!") refuse_tag(mark, tag);
    if (above(text.size(), limits_.json_string)) too_large(mark, "json-string");
    if (wants_key()) return add_key(mark, text);
    add(mark, plain ? plain_value(mark, text) : decltype(JsonValue::data)(text));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, anchor, JsonValue::List{});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, anchor, JsonValue::Members{});
  }
  void OnMapEnd() override {
    if (auto twice = repeated_key(*open_.back().value.members(), file_))
      throw Refused{{std::move(*twice)}};
    close();
  }

 private:
  struct Open {
    JsonValue value;
    bool wants_key = false;  // of an object: its next scalar is one
  };

  Place place(const YAML::Mark& mark) const {
    return {std::string(file_), mark.line + 1, mark.column + 1, {}};
  }
  [[noreturn]] void refuse(const YAML::Mark& mark, std::string code, std::string message) const {
    throw Refused{error(std::move(code), std::move(message), place(mark)).value()};
  }
  [[noreturn]] void too_large(const YAML::Mark& mark, std::string_view limit) const {
    throw Refused{over_limit(limits_, limit, place(mark)).value()};
  }
  [[noreturn]] void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    refuse(mark, "E350", fmt::format("tags are not read: {}", shortened(tag, 60)));
  }
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0) refuse(mark, "E350", "anchors are not read");
  }
  static bool above(size_t count, int64_t limit) { return count > static_cast<size_t>(limit); }

  bool wants_key() const { return !open_.empty() && open_.back().wants_key; }

  void add_key(const YAML::Mark& mark, const std::string& text) {
    auto& members = std::get<JsonValue::Members>(open_.back().value.data);
    if (above(members.size() + 1, limits_.json_keys)) too_large(mark, "json-keys");
    members.push_back({text, mark.line + 1, mark.column + 1, {}});
    open_.back().wants_key = false;
  }

  decltype(JsonValue::data) plain_value(const YAML::Mark& mark, const std::string& text) const {
    if (text.empty() || text == "null" || text == "~") return {};
    if (text == "true" || text == "false") return text == "true";
    const NumberForm form = number_form(text);
    if (!form.valid) return text;
    double real = 0;
    const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), real);
    const bool tiny = text.find('-', 1) != text.npos;  // an exponent's; it is 0 then
    if (fault != std::errc() && !tiny) refuse(mark, "E312", "this number is beyond 1.8e308");
    return JsonNumber{text, real, form.whole};
  }

  void count(const YAML::Mark& mark) {
    if (above(++values_, limits_.json_values)) too_large(mark, "json-values");
  }
  void add(const YAML::Mark& mark, decltype(JsonValue::data) data) {
    if (wants_key()) refuse(mark, "E350", "a key is a word or a number");
    count(mark);
    put({mark.line + 1, mark.column + 1, std::move(data)});
  }
  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            decltype(JsonValue::data) data) {
    refuse_anchor(mark, anchor);
    if (tag != "?" && !tag.empty()) refuse_tag(mark, tag);
    if (wants_key()) refuse(mark, "E350", "a key is a word or a number");
    if (above(open_.size() + 1, limits_.json_depth)) too_large(mark, "json-depth");
    count(mark);
    const bool object = std::holds_alternative<JsonValue::Members>(data);
    open_.push_back({{mark.line + 1, mark.column + 1, std::move(data)}, object});
  }
  void close() {
    JsonValue value = std::move(open_.back().value);
    open_.pop_back();
    put(std::move(value));
  }
  void put(JsonValue value) {
    if (open_.empty()) {
      root_ = std::move(value);
      done_ = true;
    } else if (auto* list = std::get_if<JsonValue::List>(&open_.back().value.data)) {
      list->push_back(std::move(value));
    } else {
      std::get<JsonValue::Members>(open_.back().value.data).back().value = std::move(value);
      open_.back().wants_key = true;
    }
  }

  std::string_view file_;
  const Limits& limits_;
  std::vector<Open> open_;  // outermost first
  JsonValue root_;
  size_t values_ = 0;
  bool done_ = false;
};

}  // namespace

Result<JsonValue> read_yaml(std::string_view text, std::string_view file_name,
                            const Limits& limits) {
  const Place start{std::string(file_name), 1, 1, {}};
  if (text.size() > static_cast<size_t>(limits.json)) return over_limit(limits, "json", start);
  if (to_valid_utf8(text) != text)
    return error("E302", "is not UTF-8", start, "save the file as UTF-8");
  YamlBuilder builder(file_name, limits);
  std::istringstream in{std::string(text)};
  try {
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refused& refused) {
    return tl::make_unexpected(refused.why);
  } catch (const YAML::Exception& fault) {
    const Place at{std::string(file_name), fault.mark.line + 1, fault.mark.column + 1, {}};
    return error("E351", shortened(fault.msg, 200), at);
  }
  if (!builder.has_value()) return error("E331", "is empty", start);
  return builder.take();
}

}  // namespace plimsoll
