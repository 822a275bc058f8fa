#include "estimator/settings/records.h"

#include <fmt/format.h>

#include "estimator/request/trainer.h"
#include "estimator/settings/json_texts.h"
#include "estimator/settings/record_forms.h"
#include "hwdb/measured/keys.h"

namespace plimsoll {
namespace {

using Form = SettingValue::Form;

// The text that the setting's reader takes; nothing where the record's word is not known.
std::optional<std::string> text_for(const SettingRow& row, const JsonValue& written) {
  if (const auto on = written.boolean()) return *on ? "on" : "off";
  const std::string text = text_of(written);
  return row.record.word ? row.record.word(text) : text;
}

bool read_row(const SettingRow& row, const JsonValue& written, Request& into) {
  const auto text = text_for(row, written);
  if (!text) return false;
  return text->empty() || row.value.read(row, *text, into).has_value();
}

// A record that names an optimizer leaves its variant, as fused, to the program's default; one that
// names Adam also whether weights decay apart, which is a flag of Apex's FusedAdam (adam_w_mode).
bool leaves_variant(const TrainerDefault& one, const JsonValue& written) {
  const auto optimizer = one.setting == "optimizer" ? written_optimizer(text_of(written)) : "";
  if (!optimizer || optimizer->empty() || !one.text.starts_with(*optimizer)) return false;
  const std::string_view rest = one.text.substr(optimizer->size());
  return rest.starts_with("-") || rest.starts_with("w-");
}

// What the program that ran does, of what the record leaves open.
void read_trainer(const MeasuredRun& run, Request& into) {
  if (!into.trainer) into.trainer = trainer_of(run.framework, run.framework_version);
  if (!into.trainer) return;
  for (const TrainerDefault& one : into.trainer->defaults) {
    const SettingRow* row = find_setting(one.setting);
    const auto written = row->record.name.empty() ? std::nullopt : value_of(run, row->record.name);
    if (!written || leaves_variant(one, *written)) (void)row->value.read(*row, one.text, into);
  }
}

bool is_given(const SettingRow& row, const Request& request) {
  return request.given.contains(row.name);
}

}  // namespace

tl::expected<void, std::string> read_settings(const MeasuredRun& run, Request& into) {
  for (const SettingRow& row : settings()) {
    if (row.record.name.empty() || row.record.composed) continue;
    const auto written = value_of(run, row.record.name);
    if (!written || read_row(row, *written, into)) continue;
    return tl::unexpected<std::string>(
        fmt::format("{} '{}' is not known", row.record.name, text_of(*written)));
  }
  read_trainer(run, into);
  return {};
}

void write_settings(JsonWriter& out, const Request& from) {
  for (const SettingRow& row : settings()) {
    if (row.record.write) {
      if (is_given(row, from) || row.value.form == Form::kEntries || row.record.composed)
        row.record.write(out, from);
    } else if (!row.record.name.empty() && is_given(row, from)) {
      row.value.write(out.key(row.record.name), from);
    }
  }
}

std::vector<std::string> settings_without_key(const Request& request) {
  std::vector<std::string> names;
  for (const SettingRow& row : settings()) {
    if (!row.record.of_run) continue;
    const auto entries = row.value.names ? row.value.names(request) : std::vector<std::string>();
    for (const std::string& entry : entries) {
      if (entry != row.record.name) names.push_back(fmt::format("{} {}", row.name, entry));
    }
    if (!row.value.names && row.record.name.empty() && request.given.contains(row.name))
      names.emplace_back(row.name);
  }
  return names;
}

}  // namespace plimsoll
