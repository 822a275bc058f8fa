#include "estimator/app/report/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "estimator/answer/memory_part.h"
#include "estimator/app/report/document.h"
#include "estimator/app/report/human.h"
#include "estimator/app/report/json.h"
#include "estimator/settings/json_texts.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

enum class Unit : uint8_t { kBytes, kTime, kCount };

Unit unit_of(std::string_view key) {
  return key.ends_with("bytes") ? Unit::kBytes : key.ends_with("_ns") ? Unit::kTime : Unit::kCount;
}

struct Figure {
  std::string title, path, whole;  // paths: "result.memory.device_bytes"
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
                         note.part_of.empty() ? "" : object + std::string(note.part_of)});
    }
    return true;
  }
  void end() override { keys_.pop_back(); }
  bool some(bool) override { return true; }
  size_t open_list(size_t, bool) override { return 0; }

  std::vector<std::string> keys_;  // paths of the open members
};

// A figure, and below it its parts with theirs.
void add_with_parts(const Figure& figure, const std::vector<Figure>& all,
                    std::vector<Figure>& into) {
  into.push_back(figure);
  for (const Figure& part : all) {
    if (part.whole == figure.path) add_with_parts(part, all, into);
  }
}

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
    add_with_parts(figure, all, is_whole(figure) ? sorted : single);
  }
  sorted.insert(sorted.end(), single.begin(), single.end());
  return sorted;
}

// Of how many of the figures that differ it is part.
size_t depth_of(const Figure& figure, const std::vector<Figure>& all,
                const std::vector<FigureDifference>& differ) {
  if (figure.whole.empty()) return 0;
  const bool shown =
      std::ranges::find(differ, figure.whole, &FigureDifference::figure) != differ.end();
  const auto whole = std::ranges::find(all, figure.whole, &Figure::path);
  return (shown ? 1 : 0) + (whole == all.end() ? 0 : depth_of(*whole, all, differ));
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

// What other programs made of a figure is not as if it were not there.
Result<void> check_kind(const JsonValue& document, std::string_view path) {
  const JsonValue* value = at(document, path);
  if (!value || value->is_null() || value->integer()) return {};
  return error("E311", fmt::format("{} is a whole number, found {}", path, value->description()),
               {{}, value->line, value->column, {}});
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

JsonValue value_at(const JsonValue* value) { return value ? *value : JsonValue(); }

std::string json_text(const JsonValue& value) {
  JsonWriter out;
  write_value(out, value);
  return out.take();
}

void add_difference(std::string_view setting, const JsonValue* a, const JsonValue* b,
                    std::vector<RequestDifference>& into) {
  RequestDifference one{std::string(setting), value_at(a), value_at(b)};
  if (json_text(one.a) != json_text(one.b)) into.push_back(std::move(one));
}

// Of answers that do not say what they were asked, as older versions wrote them.
std::vector<RequestDifference> differences_seen(const JsonValue& a, const JsonValue& b) {
  constexpr std::pair<std::string_view, std::string_view> kAsked[] = {
      {"model", "input.model"}, {"batch", "input.batch"}, {"gpu", "result.device.id"}};
  std::vector<RequestDifference> all;
  for (const auto& [name, path] : kAsked) add_difference(name, at(a, path), at(b, path), all);
  const JsonValue* const symbols = at(b, "input.symbols");
  if (!symbols || !symbols->members()) return all;
  for (const JsonMember& symbol : *symbols->members()) {
    if (symbol.key != "batch")
      add_difference(symbol.key, at(a, "input.symbols." + symbol.key), &symbol.value, all);
  }
  return all;
}

std::vector<RequestDifference> request_differences(const JsonValue& a, const JsonValue& b) {
  const JsonValue *asked_a = a.find("request"), *asked_b = b.find("request");
  if (!asked_a || !asked_a->members() || !asked_b || !asked_b->members())
    return differences_seen(a, b);
  std::vector<RequestDifference> all;
  for (const JsonMember& member : *asked_a->members())
    add_difference(member.key, &member.value, asked_b->find(member.key), all);
  for (const JsonMember& member : *asked_b->members()) {
    if (!asked_a->find(member.key)) add_difference(member.key, nullptr, &member.value, all);
  }
  return all;
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
  const std::string_view title = role_title(largest);
  return escaped_format("{} {} on the GPU, most of all {}: {}.", human_bytes(sign * (*b - *a)),
                        sign > 0 ? "more" : "less", title.empty() ? largest : title,
                        human_bytes(most));
}

Result<LimitCheck> check(const ChangeLimit& limit, const JsonValue& before,
                         const JsonValue& after) {
  const auto a = integer_at(before, limit.figure), b = integer_at(after, limit.figure);
  if (!a || !b)
    return error("E306",
                 fmt::format("{} has no {}, which {} limits", a ? "the second" : "the first",
                             limit.figure, setting("fail-if", limit.text)));
  const double most = static_cast<double>(*a) * (1 + limit.most);
  return LimitCheck{limit, *a, *b, static_cast<double>(*b) > most};
}

constexpr LimitedFigure kLimited[] = {{"peak", "result.memory.device_bytes"},
                                      {"step", "result.time.step_ns"},
                                      {"live", "result.memory.live_peak_bytes"},
                                      {"allocated", "result.memory.allocated_peak_bytes"},
                                      {"reserved", "result.memory.reserved_bytes"}};

}  // namespace

std::span<const LimitedFigure> limited_figures() { return kLimited; }

bool AnswerDifference::passed() const {
  return std::ranges::none_of(limits, &LimitCheck::exceeded);
}

Result<AnswerDifference> difference_of(const JsonValue& a, const JsonValue& b,
                                       std::span<const ChangeLimit> limits) {
  AnswerDifference all;
  all.request = request_differences(a, b);
  const std::vector<Figure> compared = compared_figures();
  for (const Figure& figure : compared) {
    TRY(check_kind(a, figure.path));
    TRY(check_kind(b, figure.path));
    const auto was = integer_at(a, figure.path), is = integer_at(b, figure.path);
    if (!was || !is || *was == *is) continue;
    const std::string indent(2 * depth_of(figure, compared, all.figures), ' ');
    all.figures.push_back({figure.path, indent + figure.title, *was, *is});
  }
  for (const ChangeLimit& limit : limits) {
    auto checked = TRY(check(limit, a, b));
    all.limits.push_back(std::move(checked));
  }
  all.reason = reason(a, b);
  all.basis_a = other_basis(a, b);
  all.basis_b = other_basis(b, a);
  return all;
}

void describe(Fields& f, AnswerDifference& d) {
  const auto change_of = [](int64_t a, int64_t b) {
    return a == 0 ? std::nullopt : std::optional(share_of(b, a) - 1);
  };
  describe_head(f, "plimsoll.difference");
  f.object("result", [&] {
    f.list("request_differences", d.request, [&](RequestDifference& r) {
      f("setting", r.setting);
      f("a", r.a);
      f("b", r.b);
    });
    f.list("figures", d.figures, [&](FigureDifference& g) {
      f("figure", g.figure, "its path in the JSON of an answer");
      f("a", g.a);
      f("b", g.b);
      f("change", change_of(g.a, g.b), "b over a, less 1; null where a is 0");
    });
    f.list("limits", d.limits, [&](LimitCheck& check) {
      f("limit", check.limit.text, "of --fail-if");
      f("figure", check.limit.figure);
      f("a", check.a);
      f("b", check.b);
      f("change", change_of(check.a, check.b));
      f("exceeded", check.exceeded);
    });
    f("passed", d.passed(), "no limit is exceeded; it decides the exit status");
    f("reason", d.reason, {.null_where = d.reason.empty()});
  });
  f.object("request", [&] {
    f("a", d.file_a);
    f("b", d.file_b);
    std::vector<std::string> limits;
    for (const LimitCheck& check : d.limits) limits.push_back(check.limit.text);
    f("fail_if", limits);
  });
  f("request_given",
    d.limits.empty() ? std::vector<std::string>() : std::vector<std::string>{"fail_if"});
  std::vector<std::string> basis;
  for (const std::string& line : d.basis_a) basis.push_back("a: " + line);
  for (const std::string& line : d.basis_b) basis.push_back("b: " + line);
  f("basis", basis, "lines that only one of the answers has");
  f("diagnostics", Diagnostics());
}

std::string to_json(const AnswerDifference& difference) {
  return described_text([&](Fields& f) { f.visit(unchanged(difference)); });
}

std::string setting_text(const JsonValue& value) {
  if (value.is_null()) return "default";
  std::string text;
  const auto add = [&](const std::string& one) { text += (text.empty() ? "" : ", ") + one; };
  if (value.list()) {
    for (const JsonValue& one : *value.list()) add(text_of(one));
  } else if (value.members()) {
    for (const JsonMember& member : *value.members())
      add(fmt::format("{}={}", member.key, text_of(member.value)));
  } else {
    text = text_of(value);
  }
  return shortened(text.empty() ? "none" : text, 60);
}

std::string limit_text(const LimitCheck& check) {
  const ChangeLimit& limit = check.limit;
  const double change = check.a == 0 ? 0 : 100 * (share_of(check.b, check.a) - 1);
  const std::string moved = check.a == check.b ? "did not change"
                            : check.a == 0     ? "was 0 before"
                            : change > 0       ? fmt::format("grew by {:.1f} %", change)
                                               : fmt::format("shrank by {:.1f} %", -change);
  return fmt::format("{} {}; the limit is {:g} %", limit.name, moved, 100 * limit.most);
}

Table difference_table(const AnswerDifference& difference) {
  Table table({{"", "figure", Column::kRemark}, {"before"}, {"after"}, {"change"}});
  for (const FigureDifference& figure : difference.figures) {
    const Unit unit = unit_of(figure.figure);
    table.add({{figure.title, figure.figure},
               cell_of(figure.a, unit),
               cell_of(figure.b, unit),
               change_of(figure.a, figure.b)});
  }
  return table;
}

std::string to_text(const AnswerDifference& difference, const Page& page, bool basis) {
  std::string text;
  for (const RequestDifference& r : difference.request)
    text += wrapped(
        escaped_format("request: {} {} -> {}", r.setting, setting_text(r.a), setting_text(r.b)),
        page, 7);
  if (difference.figures.empty()) {
    text += "no figure differs\n";
  } else {
    text += (text.empty() ? "" : "\n") + difference_table(difference).text(page);
    if (!difference.reason.empty()) text += "\n" + wrapped(difference.reason, page);
  }
  const auto add_basis = [&](std::string_view which, const std::vector<std::string>& lines) {
    for (const std::string& line : lines)
      text += wrapped(escaped_format("{}: {}", which, shortened(line, 400)), page, 8);
  };
  if (basis) add_basis("before", difference.basis_a);
  if (basis) add_basis("after", difference.basis_b);
  if (!difference.limits.empty()) text += "\n";
  for (const LimitCheck& check : difference.limits) {
    const std::string_view word = check.exceeded ? "FAILED" : "PASSED";
    text += toned(word, check.exceeded ? Tone::kBad : Tone::kGood, page) + " " + limit_text(check) +
            "\n";
  }
  return text;
}

}  // namespace plimsoll
