#include <algorithm>

#include "estimator/settings/tables.h"

namespace plimsoll {

std::span<const SettingRow> settings() {
  static const std::vector<SettingRow> all = [] {
    std::vector<SettingRow> rows;
    for (const auto table :
         {model_settings(), training_settings(), loss_settings(), gradient_settings(),
          evaluation_settings(), finetune_settings(), gpu_settings(), framework_settings(),
          run_settings(), loading_settings(), parallel_settings(), serving_settings()})
      rows.insert(rows.end(), table.begin(), table.end());
    return rows;
  }();
  return all;
}

const SettingRow* find_setting(std::string_view name) {
  const auto all = settings();
  const auto row = std::ranges::find(all, name, &SettingRow::name);
  return row == all.end() ? nullptr : &*row;
}

}  // namespace plimsoll
