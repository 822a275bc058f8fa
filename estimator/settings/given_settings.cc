#include "estimator/settings/given_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "estimator/request/trainer.h"
#include "estimator/settings/agreement.h"
#include "estimator/settings/values.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

using Form = SettingValue::Form;

tl::unexpected<Diagnostics> given_twice(const std::string& what, const std::string& first,
                                        const std::string& second) {
  return error("E114", fmt::format("{} is given twice: {} and {}", what, shortened(first, 60),
                                   shortened(second, 60)));
}

// Two values where there is one place.
Result<void> check_single(const GivenSettings& given) {
  std::map<std::string_view, std::string_view> first;
  for (const auto& [row, text, by_default] : given.all()) {
    if (row->value.form != Form::kOne) continue;
    // A pipeline's micro-batches are the passes of an update.
    const bool passes = row->name == "micro-batches";
    const auto [at, added] = first.insert({passes ? "accumulate" : row->name, text});
    if (!added && at->second != text)
      return given_twice(setting(row->name), std::string(at->second), text);
  }
  return {};
}

// Entries by setting and name.
using Entries = std::map<std::pair<std::string_view, std::string>, std::string>;

Result<void> check_entry(const SettingRow& row, const std::string& text, Entries& seen) {
  const auto pair = TRY(parse_assignment(setting(row.name), text));
  const auto [at, added] = seen.insert({{row.name, pair.first}, pair.second});
  if (added || at->second == pair.second) return {};
  return given_twice(setting_entry(row.name, shortened(pair.first, 60)), at->second, pair.second);
}

// What the trainer does, of settings that are not given.
Result<void> take_trainer_defaults(const GivenSettings& given, Request& request) {
  if (!request.trainer) return {};
  for (const TrainerDefault& one : request.trainer->defaults) {
    const SettingRow* row = find_setting(one.setting);
    if (!row || given.has(one.setting)) continue;
    if (auto read = row->value.read(*row, one.text, request); !read) return read;
  }
  return {};
}

// What several settings say together.
Result<void> combine(Request& request) {
  take_sharded_defaults(request);
  request.gpu_count *= request.nodes;
  if (!request.given.contains("gpus"))
    request.gpu_count = std::max(request.gpu_count, request.parallel.named());
  if (request.given.contains("optimizer")) request.recipe.published = false;  // as given
  if (request.memory_bytes == 0) return error("E104", setting("mem") + ": the capacity is zero");
  return check_agreement(request);
}

}  // namespace

void GivenSettings::set(std::string_view name, std::vector<std::string> texts) {
  erase(name);
  const SettingRow* row = find_setting(name);
  for (std::string& text : texts) add(*row, std::move(text));
}

void GivenSettings::erase(std::string_view name) {
  std::erase_if(all_, [&](const One& one) { return one.row->name == name; });
}

bool GivenSettings::has(std::string_view name) const { return value(name) != nullptr; }

const std::string* GivenSettings::value(std::string_view name) const {
  const auto one = std::ranges::find(all_, name, [](const One& o) { return o.row->name; });
  return one == all_.end() ? nullptr : &one->text;
}

std::vector<std::string> GivenSettings::values(std::string_view name) const {
  std::vector<std::string> texts;
  for (const One& one : all_) {
    if (one.row->name == name) texts.push_back(one.text);
  }
  return texts;
}

std::set<std::string, std::less<>> GivenSettings::names() const {
  std::set<std::string, std::less<>> names;
  for (const One& one : all_) {
    if (!one.by_default) names.emplace(one.row->name);
  }
  return names;
}

void take_sharded_defaults(Request& request) {
  Finetune& finetune = request.recipe.finetune;
  const bool shards = request.parallel.fsdp || request.parallel.zero == int64_t{3};
  if (finetune.kind != FinetuneKind::kQlora || !shards) return;
  if (!quantization_of(finetune)->is_parameter) return;
  if (!request.given.contains("kbit-prepare")) finetune.prepared = Prepared::kNone;
  if (!request.given.contains("lora-upcast")) finetune.adapters_wide = false;
}

Result<Request> to_request(const GivenSettings& given) {
  TRY(check_single(given));
  Request request;
  request.model = given.model;
  request.given = given.names();
  Entries seen;
  for (const auto& [row, text, by_default] : given.all()) {
    if (row->value.form == Form::kEntries) {
      TRY(check_entry(*row, text, seen));
    }
    TRY(row->value.read(*row, text, request));
  }
  TRY(take_trainer_defaults(given, request));
  TRY(combine(request));
  return request;
}

}  // namespace plimsoll
