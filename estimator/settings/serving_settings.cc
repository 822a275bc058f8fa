// Which program serves a model, in its own words.
#include "estimator/model/compiled_model.h"
#include "estimator/settings/acts.h"
#include "estimator/settings/engines.h"
#include "estimator/settings/setting_value.h"
#include "estimator/settings/tables.h"
#include "estimator/settings/values.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

constexpr std::string_view kNotServed = "the model is not served; see {}";
constexpr std::string_view kNoShare = "only {} reserves a share of GPU memory";

bool serves(const SettingScope& s) { return s.request.recipe.serve; }
bool shares(const SettingScope& s) {
  return serves(s) && s.request.server.engine && s.request.server.engine->memory_share > 0;
}
// A model of sequences that has a cache of keys and values.
bool passes(const SettingScope& s) {
  return shares(s) && s.model.binding.contains("sequence") && attends(s);
}

SettingValue engine() {
  SettingValue value;
  value.type = SettingValue::Type::kWord;
  value.placeholder = "PROGRAM";
  value.words = [] {
    std::vector<std::string> names;
    for (const EngineRow& row : engines()) names.emplace_back(row.name);
    return names;
  };
  value.read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
    const auto at = TRY(read_word(row, text));
    into.server.engine = &engines()[at];
    return {};
  };
  value.write = [](JsonWriter& out, const Request& from) {
    out.string(from.server.engine ? from.server.engine->name : engines().front().name);
  };
  return value;
}

SettingValue memory_share() {
  SettingValue value;
  value.type = SettingValue::Type::kNumber;
  value.placeholder = "SHARE";
  value.read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
    const auto share = TRY(parse_real(setting(row.name), text, 0, 1));
    into.server.memory_share = share;
    return {};
  };
  value.write = [](JsonWriter& out, const Request& from) {
    from.server.memory_share ? out.real(*from.server.memory_share) : out.null();
  };
  return value;
}

SettingValue pass_tokens() {
  SettingValue value;
  value.type = SettingValue::Type::kNumber;
  value.placeholder = "N";
  value.read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
    const auto tokens = TRY(parse_count(setting(row.name), text, 1, kLargestCount));
    into.server.pass_tokens = tokens;
    return {};
  };
  value.write = [](JsonWriter& out, const Request& from) {
    from.server.pass_tokens ? out.integer(*from.server.pass_tokens) : out.null();
  };
  return value;
}

}  // namespace

std::span<const SettingRow> serving_settings() {
  static const SettingRow rows[] = {
      {.name = "engine",
       .group = kRunGroup,
       .help = "with --mode serve: transformers or vllm",
       .default_text = "transformers",
       .value = engine(),
       .acts = {serves, kNotServed, "mode=serve"}},
      {.name = "memory-share",
       .group = kRunGroup,
       .shown = kDetail,
       .help = "with --engine vllm: share of GPU memory that vLLM reserves "
               "(gpu_memory_utilization)",
       .default_text = "vLLM's default",
       .value = memory_share(),
       .acts = {shares, kNoShare, "engine"}},
      {.name = "pass-tokens",
       .group = kRunGroup,
       .shown = kDetail,
       .help = "with --engine vllm: largest number of tokens in one forward pass "
               "(max_num_batched_tokens)",
       .default_text = "vLLM's default",
       .value = pass_tokens(),
       .acts = {passes, kNoShare, "engine"}},
  };
  return rows;
}

}  // namespace plimsoll
