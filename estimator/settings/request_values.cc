#include "estimator/settings/request_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "estimator/settings/json_texts.h"
#include "graph/base/escape.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
#include "graph/json/reader.h"

namespace plimsoll {
namespace {

std::string json_of(const SettingRow& row, const Request& request) {
  JsonWriter out;
  row.value.write(out, request);
  return out.take();
}

std::string_view rule_name(const TrainingRule& rule) { return rule.trained ? "train" : "freeze"; }

// Reads `request` of an answer.
class AnswerSettings {
 public:
  explicit AnswerSettings(const std::string& file) : file_(file) {}

  Result<GivenSettings> read(const JsonValue& request, const std::set<std::string>& given) {
    for (const JsonMember& member : *request.members()) {
      if (member.key == "model") {
        if (!member.value.string()) return wrong_kind(member, "a text");
        settings_.model = *member.value.string();
      } else if (member.key == kTrainingRules) {
        TRY(read_rules(member));
      } else if (auto read = read_setting(member, given); !read) {
        return tl::make_unexpected(read.error());
      }
    }
    if (!rules_.empty()) {
      settings_.erase("freeze");
      settings_.erase("train");
      for (const auto& [row, text] : rules_) settings_.add(*row, text);
    }
    return std::move(settings_);
  }

 private:
  Place at(const JsonValue& value) const { return {file_, value.line, value.column, {}}; }

  tl::unexpected<Diagnostics> wrong_kind(const JsonMember& member, std::string_view wanted) const {
    return error("E311",
                 fmt::format("{} is {}, found {}", shortened(member.key, kQuotedColumns), wanted,
                             member.value.description()),
                 at(member.value));
  }

  Result<void> read_setting(const JsonMember& member, const std::set<std::string>& given) {
    const auto all = plimsoll::settings();
    const auto row =
        std::ranges::find(all, member.key, [](const SettingRow& r) { return underscored(r.name); });
    if (row == all.end()) return unknown(member);
    const bool was_given = given.contains(member.key);
    const std::string now = json_of(*row, Request());
    JsonWriter out;
    write_value(out, member.value);
    if (!was_given && (member.value.is_null() || out.take() == now)) return {};
    auto texts = texts_of(*row, row->name, member.value);
    Request scratch;
    for (size_t i = 0; texts && i < texts->size(); ++i) {
      if (auto read = row->value.read(*row, (*texts)[i], scratch); !read)
        return placed(read.error(), member);
    }
    if (!texts) return placed(texts.error(), member);
    // The model, the framework or the device decides it.
    if (!was_given && now == "null") return {};
    for (std::string& text : *texts) settings_.add(*row, std::move(text), !was_given);
    return {};
  }

  Result<void> read_rules(const JsonMember& member) {
    if (!member.value.list()) return wrong_kind(member, "a list of texts");
    for (const JsonValue& rule : *member.value.list()) {
      const std::string_view text = rule.string() ? *rule.string() : std::string_view();
      const size_t space = std::min(text.find(' '), text.size());
      const SettingRow* row = find_setting(text.substr(0, space));
      if (!row || row->value.type != SettingValue::Type::kGlob || space == text.size())
        return error("E311",
                     fmt::format("{} has 'freeze GLOB' and 'train GLOB', found {}", kTrainingRules,
                                 rule.description()),
                     at(rule));
      rules_.emplace_back(row, text.substr(space + 1));
    }
    return {};
  }

  tl::unexpected<Diagnostics> unknown(const JsonMember& member) const {
    std::vector<std::string> names;
    for (const SettingRow& row : plimsoll::settings()) names.push_back(underscored(row.name));
    const std::string near = nearest(member.key, names);
    return error("E304",
                 fmt::format("'{}' is not a setting{}", shortened(member.key, kQuotedColumns),
                             near.empty() ? "" : fmt::format("; did you mean {}?", near)),
                 {file_, member.line, member.column, {}});
  }

  tl::unexpected<Diagnostics> placed(Diagnostics faults, const JsonMember& member) const {
    for (Diagnostic& d : faults) {
      if (d.place.file.empty()) d.place = at(member.value);
    }
    return tl::make_unexpected(std::move(faults));
  }

  const std::string& file_;
  GivenSettings settings_;
  std::vector<std::pair<const SettingRow*, std::string>> rules_;
};

}  // namespace

JsonValue value_of(const SettingRow& row, const Request& request) {
  auto value = read_json(json_of(row, request), "");
  return value ? std::move(*value) : JsonValue();
}

bool is_refused(const SettingRow& row, std::string_view verb) {
  const auto rule = std::ranges::find(row.verbs, verb, &VerbRule::verb);
  return rule != row.verbs.end() && rule->refused;
}

std::vector<std::string> training_rules(const Request& request) {
  const std::vector<TrainingRule>& rules = request.recipe.training;
  std::vector<std::string> texts;
  if (std::ranges::is_sorted(rules, {}, &TrainingRule::trained)) return texts;
  for (const TrainingRule& rule : rules)
    texts.push_back(fmt::format("{} {}", rule_name(rule), rule.glob));
  return texts;
}

std::vector<std::string> given_names(const Request& request) {
  std::vector<std::string> names;
  std::set<std::string, std::less<>> rest = request.given;
  rest.insert(request.by_default.begin(), request.by_default.end());
  for (const SettingRow& row : settings()) {
    if (rest.erase(std::string(row.name)) > 0) names.push_back(underscored(row.name));
  }
  for (const std::string& name : rest) names.push_back(underscored(name));
  return names;
}

Result<void> check_answer_version(const JsonValue& document, const std::string& file) {
  const JsonValue* const version = document.find("version");
  const auto number = version ? version->integer() : kAnswerVersion;
  if (number && *number >= 1 && *number <= kAnswerVersion) return {};
  return error("E330",
               fmt::format("the answer's version is {}; this program reads {}",
                           version->description(), kAnswerVersion),
               {file, version->line, version->column, {}}, "create it again with this version");
}

Result<GivenSettings> settings_of_answer(const JsonValue& document, const std::string& file) {
  constexpr std::string_view kForm = "plimsoll.estimate";
  const Place place{file, document.line, document.column, {}};
  const JsonValue* const form = document.find("schema");
  const JsonValue* const request = document.find("request");
  if (!form || !form->string() || *form->string() != kForm)
    return error("E330",
                 fmt::format("the file is not an answer of estimate: {} is not '{}'",
                             form ? form->description() : "schema is missing and", kForm),
                 place, "plimsoll estimate MODEL --gpu ID --json > answer.json");
  TRY(check_answer_version(document, file));
  if (!request || !request->members())
    return error("E306", "the answer does not contain its request: it has no request", place,
                 "create it again with this version");
  std::set<std::string> given;
  const JsonValue* const names = document.find("request_given");
  if (!names || !names->list())
    return error("E306", "the answer does not contain its request: it has no request_given", place);
  for (const JsonValue& name : *names->list()) {
    if (!name.string())
      return error("E311", "request_given has names, found " + name.description(),
                   {file, name.line, name.column, {}});
    given.insert(*name.string());
  }
  return AnswerSettings(file).read(*request, given);
}

}  // namespace plimsoll
