#include "estimator/report/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "estimator/report/human.h"
#include "graph/base/escape.h"
#include "graph/base/text.h"

namespace plimsoll {
namespace {

enum class Unit : uint8_t { kBytes, kTime, kCount };

struct Figure {
  std::string_view name, path;
  Unit unit = Unit::kBytes;
};

constexpr Figure kFigures[] = {
    {"peak on the card", "result.memory.device_bytes"},
    {"  live tensors", "result.memory.live_peak_bytes"},
    {"  workspace", "result.memory.workspace_bytes"},
    {"  allocator's segments", "result.memory.reserved_bytes"},
    {"  context and libraries", "result.memory.context_bytes"},
    {"parameters", "result.memory.parameters.count", Unit::kCount},
    {"kept for backward", "result.memory.saved_bytes"},
    {"optimizer state", "result.memory.optimizer_state_bytes"},
    {"usable on the card", "result.device.usable_bytes"},
    {"step", "result.time.step_ns", Unit::kTime},
    {"  forward", "result.time.forward_ns", Unit::kTime},
    {"  backward", "result.time.backward_ns", Unit::kTime},
    {"  update", "result.time.update_ns", Unit::kTime},
    {"  communication", "result.time.communication_ns", Unit::kTime},
    {"  input copy", "result.time.input_copy_ns", Unit::kTime},
};

const JsonValue* at(const JsonValue& document, std::string_view path) {
  const JsonValue* value = &document;
  while (value && !path.empty()) value = value->find(take_part(path, '.'));
  return value;
}

std::optional<int64_t> integer_at(const JsonValue& document, std::string_view path) {
  const JsonValue* value = at(document, path);
  return value ? value->integer() : std::nullopt;
}

std::string text_at(const JsonValue& document, std::string_view path) {
  const JsonValue* value = at(document, path);
  if (!value) return "";
  if (value->string()) return *value->string();
  const auto number = value->integer();
  return number ? std::to_string(*number) : "";
}

TableCell cell_of(int64_t value, Unit unit) {
  if (unit == Unit::kBytes) return bytes_cell(value);
  return unit == Unit::kTime ? time_cell(value) : count_cell(value);
}

TableCell change_of(int64_t before, int64_t after) {
  if (before == 0) return {"new"};
  const double change = static_cast<double>(after - before) / static_cast<double>(before);
  return {fmt::format("{:+.1f} %", 100 * change), fmt::format("{:.4f}", change)};
}

// "batch 32 -> 64": what was asked differently.
std::vector<std::string> asked_differently(const JsonValue& before, const JsonValue& after) {
  constexpr std::pair<std::string_view, std::string_view> kAsked[] = {
      {"model", "input.model"}, {"batch", "input.batch"}, {"gpu", "result.device.id"}};
  std::vector<std::string> said;
  const auto compare = [&](std::string_view name, std::string_view path) {
    const std::string a = text_at(before, path), b = text_at(after, path);
    if (a != b)
      said.push_back(escaped_format("{} {} -> {}", name, shortened(a.empty() ? "none" : a, 60),
                                    shortened(b.empty() ? "none" : b, 60)));
  };
  for (const auto& [name, path] : kAsked) compare(name, path);
  const JsonValue* const symbols = at(after, "input.symbols");
  if (symbols && symbols->members()) {
    for (const JsonMember& symbol : *symbols->members()) {
      if (symbol.key != "batch") compare(symbol.key, "input.symbols." + symbol.key);
    }
  }
  return said;
}

// Lines of the basis that one of them has alone.
std::vector<std::string> other_basis(const JsonValue& one, const JsonValue& other) {
  const auto lines = [](const JsonValue& document) {
    std::set<std::string> texts;
    const JsonValue* basis = document.find("basis");
    if (!basis || !basis->list()) return texts;
    for (const JsonValue& line : *basis->list()) {
      if (line.string()) texts.insert(*line.string());
    }
    return texts;
  };
  const std::set<std::string> have = lines(one), others = lines(other);
  std::vector<std::string> alone;
  std::ranges::set_difference(have, others, std::back_inserter(alone));
  return alone;
}

// The role whose share of the peak changed most in the direction in which the peak did.
std::string reason(const JsonValue& before, const JsonValue& after) {
  const auto a = integer_at(before, "result.memory.device_bytes");
  const auto b = integer_at(after, "result.memory.device_bytes");
  const JsonValue* const roles = at(after, "result.memory.peak.by_role");
  if (!a || !b || *a == *b || !roles || !roles->members()) return "";
  const int64_t sign = *b > *a ? 1 : -1;
  std::string largest;
  int64_t most = 0;
  for (const JsonMember& role : *roles->members()) {
    const std::string path = "result.memory.peak.by_role." + role.key;
    const int64_t change =
        sign * (role.value.integer().value_or(0) - integer_at(before, path).value_or(0));
    if (change <= most) continue;
    most = change;
    largest = role.key;
  }
  if (largest.empty()) return "";
  return escaped_format("{} {} on the card, {} of it {}", human_bytes(sign * (*b - *a)),
                        sign > 0 ? "more" : "less", human_bytes(most), largest);
}

}  // namespace

Table difference_table(const JsonValue& before, const JsonValue& after) {
  Table table({{"", "figure", Column::kRemark}, {"before"}, {"after"}, {"change"}});
  for (const Figure& figure : kFigures) {
    const auto a = integer_at(before, figure.path), b = integer_at(after, figure.path);
    if (!a || !b || *a == *b) continue;
    table.add({{std::string(figure.name), std::string(figure.path)},
               cell_of(*a, figure.unit),
               cell_of(*b, figure.unit),
               change_of(*a, *b)});
  }
  return table;
}

std::string difference_text(const JsonValue& before, const JsonValue& after, const Page& page) {
  std::string text;
  for (const std::string& line : asked_differently(before, after))
    text += wrapped("asked: " + line, page);
  const Table table = difference_table(before, after);
  if (table.empty()) return text + "no figure differs\n";
  text += (text.empty() ? "" : "\n") + table.text(page);
  const std::string why = reason(before, after);
  if (!why.empty()) text += "\n" + wrapped(why, page);
  for (const std::string& line : other_basis(before, after))
    text += wrapped(escaped_format("before: {}", shortened(line, 400)), page, 8);
  for (const std::string& line : other_basis(after, before))
    text += wrapped(escaped_format("after: {}", shortened(line, 400)), page, 8);
  return text;
}

}  // namespace plimsoll
