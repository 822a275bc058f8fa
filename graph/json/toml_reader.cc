#include "graph/json/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <tuple>
#include <utility>

#include "graph/base/escape.h"
#include "graph/base/try.h"

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace plimsoll {
namespace {

class TomlReader {
 public:
  TomlReader(std::string_view file, const Limits& limits) : file_(file), limits_(limits) {}

  Result<JsonValue> read(const toml::node& node, int64_t depth = 1) {
    const toml::source_position at = node.source().begin;
    if (depth > limits_.json_depth) return too_large(at, "json-depth");
    if (++values_ > limits_.json_values) return too_large(at, "json-values");
    JsonValue value{
        .line = static_cast<int>(at.line), .column = static_cast<int>(at.column), .data = {}};
    if (const auto* table = node.as_table()) {
      value.data = TRY(members_of(*table, depth));
    } else if (const auto* array = node.as_array()) {
      JsonValue::List list;
      for (const toml::node& one : *array) list.push_back(TRY(read(one, depth + 1)));
      value.data = std::move(list);
    } else if (const auto* text = node.as_string()) {
      value.data = text->get();
    } else if (const auto* flag = node.as_boolean()) {
      value.data = flag->get();
    } else if (const auto* whole = node.as_integer()) {
      value.data =
          JsonNumber{fmt::format("{}", whole->get()), static_cast<double>(whole->get()), true};
    } else if (const auto* real = node.as_floating_point()) {
      if (!std::isfinite(real->get())) return error("E312", "a number must be finite", place(at));
      value.data = JsonNumber{fmt::format("{}", real->get()), real->get(), false};
    } else {
      value.data = time_text(node);
    }
    return value;
  }

  Place place(const toml::source_position& at) const {
    return {std::string(file_), static_cast<int>(at.line), static_cast<int>(at.column), {}};
  }

 private:
  // The library sorts keys by name.
  Result<JsonValue::Members> members_of(const toml::table& table, int64_t depth) {
    JsonValue::Members members;
    for (const auto& [key, node] : table) {
      const toml::source_position at = key.source().begin;
      members.push_back({std::string(key.str()), static_cast<int>(at.line),
                         static_cast<int>(at.column), TRY(read(node, depth + 1))});
    }
    std::ranges::sort(members, {},
                      [](const JsonMember& m) { return std::tuple(m.line, m.column); });
    return members;
  }

  static std::string time_text(const toml::node& node) {
    std::ostringstream text;
    if (const auto* date = node.as_date()) text << date->get();
    if (const auto* time = node.as_time()) text << time->get();
    if (const auto* both = node.as_date_time()) text << both->get();
    return text.str();
  }

  tl::unexpected<Diagnostics> too_large(const toml::source_position& at,
                                        std::string_view limit) const {
    return over_limit(limits_, limit, place(at));
  }

  std::string_view file_;
  const Limits& limits_;
  int64_t values_ = 0;
};

}  // namespace

Result<JsonValue> read_toml(std::string_view text, std::string_view file_name,
                            const Limits& limits) {
  TomlReader reader(file_name, limits);
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& fault = parsed.error();
    return error("E359",
                 fmt::format("is not TOML: {}", shortened(std::string(fault.description()))),
                 reader.place(fault.source().begin));
  }
  return reader.read(parsed.table());
}

}  // namespace plimsoll
