#include "estimator/app/cli/sweep_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "estimator/app/trainer_files/apply_trainer_files.h"
#include "estimator/settings/json_texts.h"
#include "graph/base/folder.h"
#include "graph/base/setting.h"

namespace plimsoll::cli {
namespace {

constexpr std::string_view kTrainerParameter = "trainer";

}  // namespace

bool is_trainer_file(const SweepParameter& parameter) {
  return parameter.name == kTrainerParameter &&
         std::ranges::any_of(parameter.values, [](const JsonValue& value) {
           return names_trainer_file(text_of(value));
         });
}

Result<void> take_trainer(const SweepPlan& plan, const std::string& path, SharedFlags& flags) {
  const auto at = std::ranges::find_if(plan.parameters, is_trainer_file);
  if (at == plan.parameters.end()) return {};
  if (at->values.size() > 1)
    return error("E311", "trainer takes one file, or names of programs", at->place,
                 "a plan for each file");
  if (flags.has(kTrainerParameter))
    return error(
        "E114",
        fmt::format("{} and the plan's trainer exclude each other", setting(kTrainerParameter)),
        at->place);
  const std::string named = text_of(at->values.front());
  const std::string path_there = (std::filesystem::path(path).parent_path() / named).string();
  flags.add(*find_setting(kTrainerParameter), path_exists(path_there) ? path_there : named);
  return {};
}

}  // namespace plimsoll::cli
