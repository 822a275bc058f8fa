// What the host's memory has of a step, as a list of words: "states,activations".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "estimator/settings/setting_row.h"

namespace plimsoll {

std::vector<std::string> offload_words();
Result<void> read_offload(const SettingRow& row, std::string_view text, Request& into);
void write_offload(JsonWriter& out, const Request& from);

constexpr SettingValue offload_value() {
  return {.type = SettingValue::Type::kWord,
          .placeholder = "WHAT",
          .words = offload_words,
          .read = read_offload,
          .write = write_offload};
}

}  // namespace plimsoll
