#include "estimator/report/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "estimator/report/human.h"
#include "estimator/report/json.h"
#include "graph/base/escape.h"
#include "graph/base/text.h"

namespace plimsoll {
namespace {

enum class Unit : uint8_t { kBytes, kTime, kCount };

Unit unit_of(std::string_view key) {
  return key.ends_with("bytes") ? Unit::kBytes : key.ends_with("_ns") ? Unit::kTime : Unit::kCount;
}

struct Figure {
  std::string title, path, whole;  // paths: "result.memory.device_bytes"
  Unit unit = Unit::kBytes;
};

// The figures that have a title, in the order of the JSON.
class FigureFields final : public Fields {
 public:
  std::vector<Figure> figures;

 private:
  bool begin(std::string_view key, const FieldNote& note, bool) override {
    const std::string object = keys_.empty() ? "" : keys_.back() + ".";
    keys_.push_back(object + std::string(key));
    if (!note.title.empty()) {
      figures.push_back({std::string(note.title), keys_.back(),
                         note.part_of.empty() ? "" : object + std::string(note.part_of),
                         unit_of(key)});
    }
    return true;
  }
  void end() override { keys_.pop_back(); }
  bool some(bool) override { return true; }
  size_t open_list(size_t, bool) override { return 0; }

  std::vector<std::string> keys_;  // paths of the open members
};

// Those that have parts first, each before its parts.
std::vector<Figure> compared_figures() {
  FigureFields fields;
  Estimate any;
  describe(fields, any, {});
  const std::vector<Figure>& all = fields.figures;
  const auto is_whole = [&](const Figure& figure) {
    return std::ranges::find(all, figure.path, &Figure::whole) != all.end();
  };
  std::vector<Figure> sorted, single;
  for (const Figure& figure : all) {
    if (!figure.whole.empty()) continue;
    if (!is_whole(figure)) {
      single.push_back(figure);
      continue;
    }
    sorted.push_back(figure);
    for (const Figure& part : all) {
      if (part.whole != figure.path) continue;
      sorted.push_back(part);
      sorted.back().title.insert(0, "  ");
    }
  }
  sorted.insert(sorted.end(), single.begin(), single.end());
  return sorted;
}

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
  for (const Figure& figure : compared_figures()) {
    const auto a = integer_at(before, figure.path), b = integer_at(after, figure.path);
    if (!a || !b || *a == *b) continue;
    table.add({{figure.title, figure.path},
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
