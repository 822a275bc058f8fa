#include "estimator/answer/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "estimator/answer/platform_notes.h"
#include "estimator/request/check_flags.h"
#include "estimator/request/platform.h"
#include "estimator/request/trainer.h"
#include "estimator/settings/setting_row.h"
#include "estimator/settings/tables.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

bool is_named(const SettingRow& row, const Request& request) {
  return request.given.contains(row.name) || request.by_default.contains(row.name);
}

// Whether the step was recorded with the very value that is asked for.
bool recorded_so(const SettingRow& row, const SettingScope& scope) {
  const auto with = scope.model.recorded_with.find(underscored(row.name));
  if (with == scope.model.recorded_with.end() || !is_named(row, scope.request)) return false;
  Request recorded;
  for (const std::string& text : with->second) {
    if (!row.value.read(row, text, recorded)) return false;
  }
  const auto text = [&](const Request& request) {
    JsonWriter out;
    row.value.write(out, request);
    return out.take();
  };
  return text(recorded) == text(scope.request);
}

// Whether it says what a step does: settings of training, and these of the run.
bool changes_step(const SettingRow& row) {
  constexpr std::string_view kOfRun[] = {"micro-batches", "offload"};
  return std::string_view(row.group) == kTrainingGroup ||
         std::ranges::find(kOfRun, row.name) != std::end(kOfRun);
}

// The operators of a recorded step are PyTorch's, whatever framework is named.
std::optional<Diagnostic> of_other_framework(const Platform& platform, const CompiledModel& model) {
  const std::string& framework = platform.framework.framework;
  if (!model.recorded || framework == "pytorch") return std::nullopt;
  return warning(
      std::string(kWithoutEffect),
      fmt::format("the step was recorded with PyTorch: of {}, only the allocator and what "
                  "surrounds the step are predicted",
                  framework));
}

// A training program's form of the loss, where the loss is computed in another one.
std::optional<Diagnostic> other_loss_form(const SettingScope& scope) {
  const Request& request = scope.request;
  const Recipe& recipe = scope.model.recipe;
  constexpr std::string_view kForm = "loss-form";
  const bool of_program =
      recipe.loss_form != LossForm::kOperators && request.trainer && !request.given.contains(kForm);
  if (!of_program || recipe.loss != Loss::kCausalLm || recipe.mode == Mode::kInference)
    return std::nullopt;
  const std::string why = why_without_effect(*find_setting(kForm), scope);
  if (why.empty()) return std::nullopt;
  return warning(std::string(kWithoutEffect),
                 fmt::format("the loss of {} is predicted as PyTorch's operators: {}",
                             request.trainer->program, why));
}

}  // namespace

std::string why_without_effect(const SettingRow& row, const SettingScope& scope) {
  if (scope.model.recorded && changes_step(row))
    return recorded_so(row, scope) ? "" : "the recorded step fixes it";
  for (const ActsWhere& acts : {row.acts, row.also}) {
    if (!acts.holds || acts.holds(scope)) continue;
    const size_t equals = std::min(acts.other.find('='), acts.other.size());
    const std::string_view name = acts.other.substr(0, equals);
    const std::string_view value = equals < acts.other.size() ? acts.other.substr(equals + 1)
                                   : name == "context"        ? ""
                                                              : "N";
    return fmt::format(fmt::runtime(acts.why), setting(name, value));
  }
  return {};
}

Diagnostics warnings_of(const Request& request, const Platform& platform,
                        const CompiledModel& model) {
  Diagnostics all = model.warnings;
  for (Diagnostic& d : platform_warnings(platform, *request.recipe.precision))
    all.push_back(std::move(d));
  const SettingScope scope{request, platform, model};
  for (const SettingRow& row : settings()) {
    // Defaults are for all models: not a word of one, but where it would train another step.
    const bool given = request.given.contains(row.name);
    const bool trains = model.recorded && changes_step(row);
    if (!given && !(trains && request.by_default.contains(row.name))) continue;
    const std::string why = why_without_effect(row, scope);
    if (why.empty()) continue;
    all.push_back(warning(std::string(kWithoutEffect),
                          fmt::format("{}{} has no effect: {}", setting(row.name),
                                      given ? "" : ", a default of this project,", why)));
  }
  if (auto loss = other_loss_form(scope)) all.push_back(*std::move(loss));
  if (auto other = of_other_framework(platform, model)) all.push_back(*std::move(other));
  for (const auto& [name, price] : request.assume) {
    const bool known = find_op("", name) != nullptr;
    if (known)
      all.push_back(warning(
          std::string(kWithoutEffect),
          setting_entry("assume", shortened(name, 60)) + " has no effect: the operator is known"));
  }
  for (Diagnostic& newer : newer_versions(request, platform)) all.push_back(std::move(newer));
  return all;
}

void keep_common(Diagnostics& said, const Diagnostics& of_another) {
  std::erase_if(said, [&](const Diagnostic& d) {
    return std::ranges::none_of(of_another, [&](const Diagnostic& other) {
      return other.code == d.code && other.message == d.message;
    });
  });
}

}  // namespace plimsoll
