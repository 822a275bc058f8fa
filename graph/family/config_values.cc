#include "graph/family/config_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "graph/base/escape.h"

namespace plimsoll {
namespace {

class ConfigReader {
 public:
  ConfigReader(std::string_view file, const JsonValue& family, const JsonValue& common)
      : file_(file), family_(family), common_(common) {}

  void read(const JsonValue& config) { read_members(config, family_.find("keys")); }

  Result<config::Settings> take() {
    if (!faults_.empty()) return tl::make_unexpected(std::move(faults_));
    return std::move(values_);
  }

 private:
  static const JsonValue::Members& members(const JsonValue* value) {
    static const JsonValue::Members kNone;
    return value && value->members() ? *value->members() : kNone;
  }

  void read_members(const JsonValue& config, const JsonValue* keys) {
    for (const JsonMember& member : members(&config)) {
      const JsonValue* row = keys ? keys->find(member.key) : nullptr;
      if (row) {
        apply(member, *row);
      } else if (!is_known(member.key) && !member.value.is_null()) {
        refuse_key(member, keys);
      }
    }
  }

  // Of all families: it changes neither memory nor time.
  bool is_known(const std::string& key) const {
    const JsonValue* ignored = common_.find("without_effect");
    const JsonValue::List* list = ignored ? ignored->list() : nullptr;
    return list && std::ranges::any_of(*list, [&](const JsonValue& known) {
             return known.string() && *known.string() == key;
           });
  }

  void refuse_key(const JsonMember& member, const JsonValue* keys) {
    std::vector<std::string> known;
    for (const JsonMember& row : members(keys)) known.push_back(row.key);
    const std::string near = nearest(member.key, known);
    fail("E355", member, fmt::format("nothing reads the key \"{}\"", shortened(member.key)),
         near.empty() ? "leave it out if it changes neither memory nor time"
                      : fmt::format("did you mean \"{}\"? Else leave it out if it changes neither "
                                    "memory nor time",
                                    near));
  }

  void fail(std::string code, const JsonMember& at, std::string message, std::string help) {
    faults_.push_back({std::move(code), Severity::kError, std::move(message),
                       Place{std::string(file_), at.line, at.column, {}}, std::move(help)});
  }

  // A row is the name of a parameter, null for a key that changes nothing, or an object.
  void apply(const JsonMember& member, const JsonValue& row) {
    if (row.is_null()) return;
    if (const std::string* parameter = row.string()) return set(member, *parameter, nullptr);
    if (const JsonValue* keys = row.find("keys")) return read_members(member.value, keys);
    if (const JsonValue* keys = row.find("each")) {
      for (const JsonMember& one : members(&member.value)) read_members(one.value, keys);
      return;
    }
    if (const JsonValue* only = row.find("only")) return expect(member, *only);
    const JsonValue* parameter = row.find("sets");
    if (!parameter || !parameter->string()) return;
    const JsonValue* null = row.find("null");
    if (member.value.is_null()) {
      if (null) values_[*parameter->string()] = *text_of(*null, nullptr);
      return;
    }
    // A cap of scores, say: that there is one counts, not which.
    if (row.find("members")) {
      values_[*parameter->string()] = fmt::format("{}", members(&member.value).size());
    } else if (const JsonValue* is = row.find("is")) {
      values_[*parameter->string()] = *text_of(*is, nullptr);
    } else if (const JsonValue* times = row.find("times")) {
      set_share(member, *parameter->string(), *times);
    } else if (row.find("square")) {
      set_side(member, *parameter->string());
    } else {
      set(member, *parameter->string(), words_of(row));
    }
  }

  // A height and a width, or the side of a square.
  void set_side(const JsonMember& member, const std::string& parameter) {
    const JsonValue::List* const sides = member.value.list();
    if (!sides) return set(member, parameter, nullptr);
    const auto first = sides->empty() ? std::nullopt : text_of(sides->front(), nullptr);
    const auto same = [&](const JsonValue& side) { return text_of(side, nullptr) == first; };
    if (!first || !std::ranges::all_of(*sides, same)) return refuse_value(member, member.value);
    values_[parameter] = *first;
  }

  // A share, in parts of so many: sizes are whole numbers.
  void set_share(const JsonMember& member, const std::string& parameter, const JsonValue& times) {
    const auto share = member.value.real();
    const auto parts = times.integer();
    if (!share || !parts) return refuse_value(member, member.value);
    const double product = std::round(*share * static_cast<double>(*parts));
    if (!(product >= 0 && product <= static_cast<double>(*parts)))
      return refuse_value(member, member.value);
    values_[parameter] = fmt::format("{}", static_cast<int64_t>(product));
  }

  // "words" is a table of its own, or the name of one that families share.
  const JsonValue* words_of(const JsonValue& row) const {
    const JsonValue* words = row.find("words");
    if (!words || !words->string()) return words;
    const JsonValue* shared = common_.find("words");
    return shared ? shared->find(*words->string()) : nullptr;
  }

  void expect(const JsonMember& member, const JsonValue& only) {
    const bool empty = member.value.list() && member.value.list()->empty();
    if (member.value.is_null() || empty) return;
    const auto equal = [&](const JsonValue& allowed) {
      const auto a = text_of(allowed, nullptr), b = text_of(member.value, nullptr);
      return a && b && *a == *b;
    };
    if (only.list() && std::ranges::any_of(*only.list(), equal)) return;
    fail("E356", member,
         fmt::format("\"{}\": {} is not modelled", shortened(member.key),
                     member.value.description()),
         {});
  }

  // Ratios of sizes are written as 4.0.
  static std::string whole_or_as_written(const JsonNumber& number) {
    const std::string_view text = number.text;
    const size_t point = text.find('.');
    const bool whole = point != text.npos && text.find_first_not_of('0', point + 1) == text.npos;
    return std::string(whole ? text.substr(0, point) : text);
  }

  static std::optional<std::string> text_of(const JsonValue& value, const JsonValue* words) {
    if (const auto flag = value.boolean()) return *flag ? "1" : "0";
    if (const JsonNumber* number = value.number()) return whole_or_as_written(*number);
    if (const std::string* word = value.string()) {
      if (!words) return *word;
      const JsonValue* meant = words->find(*word);
      return meant ? text_of(*meant, nullptr) : std::nullopt;
    }
    return std::nullopt;
  }

  void set(const JsonMember& member, const std::string& parameter, const JsonValue* words) {
    if (member.value.is_null()) return;
    std::string text;
    if (const JsonValue::List* list = member.value.list()) {
      for (const JsonValue& one : *list) {
        const auto part = text_of(one, words);
        if (!part) return refuse_value(member, one);
        text += (text.empty() ? "" : ",") + *part;
      }
    } else if (const auto one = text_of(member.value, words)) {
      text = *one;
    } else {
      return refuse_value(member, member.value);
    }
    values_[parameter] = std::move(text);
  }

  void refuse_value(const JsonMember& member, const JsonValue& value) {
    fail("E356", member,
         fmt::format("\"{}\": {} is unknown for this model type", shortened(member.key),
                     value.description()),
         {});
  }

  std::string_view file_;
  const JsonValue& family_;
  const JsonValue& common_;
  config::Settings values_;
  Diagnostics faults_;
};

}  // namespace

Result<config::Settings> config_values(const JsonValue& config, std::string_view file_name,
                                       const JsonValue& family, const JsonValue& common) {
  ConfigReader reader(file_name, family, common);
  reader.read(config);
  return reader.take();
}

}  // namespace plimsoll
