// Where settings act: asked of the compiled step, of the rows of its graph's operators, and of the
// platform.
#pragma once

#include "estimator/settings/setting_row.h"

namespace plimsoll {

bool trains(const SettingScope& s);
bool updates(const SettingScope& s);
bool published(const SettingScope& s);
bool convolves(const SettingScope& s);
bool has_images(const SettingScope& s);
bool runs_cudnn(const SettingScope& s);
bool recurs(const SettingScope& s);
bool attends(const SettingScope& s);
bool normalises_rows(const SettingScope& s);  // in mixed precision
bool drops(const SettingScope& s);
bool fuses_attention(const SettingScope& s);
bool decays_apart(const SettingScope& s);  // kernels of the update depend on weight decay
bool knows_loading(const SettingScope& s);
bool has_link(const SettingScope& s);
bool exchanges(const SettingScope& s);
bool shards(const SettingScope& s);
bool has_network(const SettingScope& s);
bool has_unknown_host(const SettingScope& s);
bool loads_modules(const SettingScope& s);
bool of_this_card(const SettingScope& s);
bool knows_loader(const SettingScope& s);
bool knows_epoch(const SettingScope& s);
bool knows_host_memory(const SettingScope& s);

// Of stage 3 of ZeRO: some weight is gathered; others are than by default.
bool gathers_weights(const SettingScope& s);
bool parts_other_weights(const SettingScope& s);

}  // namespace plimsoll
