#include "estimator/app/cli/result_file.h"

#include <algorithm>
#include <filesystem>

#include "estimator/app/cli/messages.h"
#include "estimator/app/trainer_files/apply_trainer_files.h"
#include "estimator/settings/request_values.h"
#include "graph/base/byte_source.h"
#include "graph/base/try.h"
#include "graph/json/reader.h"

namespace plimsoll::cli {
namespace {

// What stands between the tags of the page's data; all of it where there are none.
std::string_view data_of(std::string_view text) {
  constexpr std::string_view kBegin = R"(<script type="application/json" id="plimsoll-result">)";
  const size_t begin = text.find(kBegin);
  if (begin == text.npos) return text;
  text.remove_prefix(begin + kBegin.size());
  return text.substr(0, text.find("</script>"));
}

// Whether a value is given of the same entry: --dim sequence=64.
bool has_entry(const GivenSettings& given, const GivenSettings::One& one) {
  if (one.row->value.form != SettingValue::Form::kEntries) return false;
  const auto name_of = [](std::string_view text) { return text.substr(0, text.find('=')); };
  return std::ranges::any_of(given.values(one.row->name), [&](const std::string& text) {
    return name_of(text) == name_of(one.text);
  });
}

}  // namespace

Result<std::optional<JsonValue>> read_result(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension != ".json" && extension != ".html") return std::nullopt;
  const auto text = TRY(read_text(path));
  const std::string_view data = data_of(text);
  if (extension == ".html" && data.size() == text.size()) return std::nullopt;
  auto value = TRY(read_json(data, path));
  const JsonValue* const schema = value.find("schema");
  const bool is_estimate = schema && schema->string() && *schema->string() == "plimsoll.estimate";
  if (!is_estimate) return std::nullopt;
  TRY(check_answer_version(value, path));
  return std::optional<JsonValue>(std::move(value));
}

Result<void> ask_again(const std::string& path, SharedFlags& flags) {
  const auto text = TRY(read_text(path));
  const auto document = TRY(read_json(data_of(text), path));
  const auto answered = TRY(settings_of_answer(document, path));
  const auto files = TRY(apply_trainer_files(flags));
  report(files.diagnostics);
  if (flags.model.empty()) flags.model = answered.model;
  const SharedFlags given = flags;
  const auto wins = [&](const GivenSettings::One& one) {
    return given.has(one.row->name) && one.row->value.form != SettingValue::Form::kEntries;
  };
  for (const GivenSettings::One& one : answered.all()) {
    if (!wins(one) && !has_entry(given, one)) flags.add(*one.row, one.text, one.by_default);
  }
  return {};
}

}  // namespace plimsoll::cli
