// The settings, a table a group.
#pragma once

#include <span>

#include "estimator/settings/setting_row.h"

namespace plimsoll {

// Groups of help.
inline constexpr const char* kModelGroup = "Model";
inline constexpr const char* kTrainingGroup = "Training";
inline constexpr const char* kGpuGroup = "GPU and its memory";
inline constexpr const char* kFrameworkGroup = "Framework and libraries";
inline constexpr const char* kRunGroup = "Several GPUs, host and run";
inline constexpr auto kOften = SettingRow::Shown::kOften;
inline constexpr auto kDetail = SettingRow::Shown::kDetail;

inline constexpr int64_t kLargestCount = int64_t{1} << 31;

std::span<const SettingRow> model_settings();
std::span<const SettingRow> training_settings();
std::span<const SettingRow> loss_settings();
std::span<const SettingRow> gradient_settings();
std::span<const SettingRow> evaluation_settings();
std::span<const SettingRow> loading_settings();
std::span<const SettingRow> finetune_settings();
std::span<const SettingRow> gpu_settings();
std::span<const SettingRow> framework_settings();
std::span<const SettingRow> run_settings();
std::span<const SettingRow> parallel_settings();
std::span<const SettingRow> serving_settings();

// Why a verb makes no use of a setting.
inline constexpr std::string_view kNoHost = "this answer does not depend on the host";
inline constexpr std::string_view kNoRun = "this answer has no time of a whole run";
inline constexpr std::string_view kOfRecords = "records contain it; the option is for '--from'";
// What records say.
inline constexpr VerbRule kInRecords[] = {{"validate", kOfRecords, true}};

}  // namespace plimsoll
