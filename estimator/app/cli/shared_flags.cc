#include "estimator/app/cli/shared_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/app/cli/flag_groups.h"

namespace plimsoll::cli {
namespace {

using Form = SettingValue::Form;
using Shown = SettingRow::Shown;

// What help says of a setting that is not given. A table's word stands in the request alone.
std::string default_of(const SettingRow& row) {
  if (*row.default_text != '\0' || !row.value.many) return row.default_text;
  JsonWriter out;
  row.value.write(out, Request());
  const std::string word = out.take();
  return word.substr(1, word.size() - 2);  // without its quotes
}

Flag declare(const FlagSet& app, SharedFlags& flags, const SettingRow& row) {
  const std::string name = fmt::format("--{}", row.name);
  if (row.value.form == Form::kSwitch) {
    const auto add = [&flags, &row](int64_t count) {
      if (count > 0) flags.add(row, "");
    };
    return app.add_flag_function(name, add, row.help);
  }
  const auto add = [&flags, &row](const std::string& text) { flags.add(row, text); };
  return app.add_option_function(name, add, row.help)
      .trigger_on_parse()  // at once: of --freeze and --train the last match holds
      .allow_extra_args(false)
      .type_name(row.value.placeholder);
}

std::string group_of(const char* group, Shown shown) {
  if (shown == Shown::kOften) return group;
  return shown == Shown::kRarely ? rarely(group) : in_detail(group);
}

}  // namespace

const std::string* value_of(const SharedFlags& flags, std::string_view name) {
  if (const std::string* value = flags.value(name)) return value;
  const auto at = flags.verb_values.find(std::string(name));
  return at == flags.verb_values.end() || at->second.empty() ? nullptr : &at->second.front();
}

void add_value(const FlagSet& app, SharedFlags& flags, const std::string& name,
               const std::string& help, const std::string& value, const std::string& group) {
  app.add_option("--" + name, flags.verb_values[name], help)
      .allow_extra_args(false)
      .type_name(value)
      .group(group);
}

void add_shared(const FlagSet& app, SharedFlags& flags, bool with_model, Shown most) {
  if (with_model) {
    app.add_option("model", flags.model, "model.onnx, config.json, hf:NAME or builtin:NAME")
        .group(settings().front().group);
  }
  for (const SettingRow& row : settings()) {
    declare(app, flags, row)
        .group(group_of(row.group, std::min(row.shown, most)))
        .default_str(default_of(row));
  }
}

}  // namespace plimsoll::cli
