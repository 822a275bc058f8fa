#include "estimator/app/cli/python_keywords.h"

#include <fmt/format.h>

#include "estimator/settings/setting_row.h"

namespace plimsoll::cli {
namespace {

constexpr std::string_view kModuleHead =
    R"(# The command's options as keywords, for editors and type checkers, written by 'plimsoll completion python'.
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypedDict, Union

Text = Union[str, int, float, "os.PathLike[str]"]
Name = Union[str, "os.PathLike[str]"]
Several = Union[Text, Sequence[Text]]
Named = Mapping[str, Text]


class Flags(TypedDict, total=False):
    """What `estimate`, `max_batch`, `sweep` and `compare` take; `plimsoll estimate --help-all` describes each."""
)";

std::string_view type_of(const SettingValue& value) {
  using Form = SettingValue::Form;
  using Type = SettingValue::Type;
  if (value.form == Form::kSwitch) return "bool";
  if (value.form == Form::kEntries) return "Named";
  if (value.form == Form::kSeveral)
    return value.type == Type::kPath ? "Union[Name, Sequence[Name]]" : "Several";
  if (value.implied) return "Union[str, int, bool]";  // True: as the flag without a value
  if (value.type == Type::kCount) return "int";
  return value.type == Type::kWord || value.type == Type::kBoolean ? "str" : "Text";
}

}  // namespace

std::string python_keywords() {
  std::string text(kModuleHead);
  std::string_view group;
  for (const SettingRow& row : settings()) {
    if (row.group != group) text += fmt::format("\n    # {}\n", row.group);
    group = row.group;
    text += fmt::format("    {}: {}\n", underscored(row.name), type_of(row.value));
  }
  return text;
}

}  // namespace plimsoll::cli
