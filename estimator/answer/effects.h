// effects: where each flag has an effect. A flag that the user wrote and that changes nothing is
// said, one that contradicts the rest is refused; nothing is ignored in silence. Where a setting
// acts, its row says (estimator/settings/setting_row.h).
#pragma once

#include <string>
#include <string_view>

#include "estimator/model/compiled_model.h"
#include "estimator/request/request.h"
#include "estimator/settings/setting_row.h"
#include "graph/base/diagnostic.h"

namespace plimsoll {

struct Platform;

// The model's warnings and platform_warnings(); W516 for each of request.given without effect on
// this model, platform and recipe, with why; W518 for a version that is newer than those known.
Diagnostics warnings_of(const Request& request, const Platform& platform,
                        const CompiledModel& model);

// Why a setting moves no answer there; empty where it acts.
std::string why_without_effect(const SettingRow& row, const SettingScope& scope);

inline constexpr std::string_view kWithoutEffect = "W516";

// Of what is said of several models, what holds of each.
void keep_common(Diagnostics& said, const Diagnostics& of_another);

}  // namespace plimsoll
