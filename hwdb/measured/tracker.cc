#include "hwdb/measured/tracker.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "graph/base/escape.h"
#include "hwdb/measured/keys.h"
#include "hwdb/measured/other_names.h"

namespace plimsoll {

namespace {

// Settings whose own names trackers' users take; other keys (loss, mode, ...) mean something else
// there.
constexpr std::string_view kSettings[] = {
    "device",        "framework", "framework_version", "cudnn",        "cuda",
    "dtype",         "precision", "optimizer",         "batch",        "n_gpus",
    "batch_per_gpu", "link",      "micro_batch",       "accumulation", "checkpoint",
    "finetune",      "lora_rank", "workers",           "lora_alpha",   "lora_targets",
    "quantize",      "attention", "cuda_graphs",       "seq",          "nodes",
    "layout",        "compile",   "zero_stage",        "offload"};

bool has(const std::vector<std::string>& header, std::string_view name) {
  return std::ranges::find(header, name) != header.end();
}

std::string_view tracker_of(const std::vector<std::string>& header) {
  const bool parts = std::ranges::any_of(header, [](const std::string& name) {
    return name.starts_with("params.") || name.starts_with("metrics.");
  });
  if (parts && has(header, "run_id")) return "MLflow";
  return has(header, "Name") && has(header, "State") ? "Weights & Biases" : "";
}

std::string_view bare(std::string_view name) {
  for (const std::string_view prefix : {"params.", "metrics.", "config.", "summary.", "train/"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  return name;
}

bool is_measurement(std::string_view name) {
  return std::ranges::any_of(measured_keys(), [&](const MeasuredKey& key) {
    return key.name == name && name != "value" && std::holds_alternative<Above>(key.member);
  });
}

bool is_key(std::string_view name) {
  constexpr std::string_view kOthers[] = {"kind",     "input", "hidden", "dropout",
                                          "sequence", "a_t",   "b_t",    "nodes"};
  return std::ranges::find(kOthers, name) != std::end(kOthers) ||
         std::ranges::any_of(measured_keys(), [&](const auto& key) { return key.name == name; });
}

bool is_switch(const OtherName& row) { return row.value == OtherName::Value::kIfTrue; }

bool is_nothing(const std::string& cell) {
  return cell == "None" || cell == "null" || cell == "nan" || cell == "NaN" || cell == "[]";
}

}  // namespace

TrackerTable::TrackerTable(const std::vector<std::string>& header)
    : tracker_(tracker_of(header)),
      header_(header),
      columns_(header),
      read_(header.size()),
      rows_(header.size()) {
  if (!is_export()) return;
  // Of a key that several columns switch on (bf16, fp16) each is read.
  const auto has_column = [&](std::string_view key, bool switched) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (read_[i] && columns_[i] == key && !(switched && rows_[i] && is_switch(*rows_[i])))
        return true;
    }
    return false;
  };
  const auto read = [&](std::string_view name, std::string_view key, const OtherName* row) {
    for (size_t i = 0; i < header_.size(); ++i) {
      if (read_[i] || bare(header_[i]) != name || has_column(key, row && is_switch(*row))) continue;
      columns_[i] = key;
      rows_[i] = row;
      read_[i] = true;
    }
  };
  for (const std::string_view setting : kSettings) read(setting, setting, nullptr);
  for (const OtherName& row : other_names()) read(row.name, row.key, &row);
  for (const MeasuredKey& key : measured_keys()) {
    if (is_measurement(key.name)) read(key.name, key.name, nullptr);
  }
  // What has a key's name by chance is none: a rate of weight decay, the loss's value.
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!read_[i] && is_key(columns_[i])) columns_[i].clear();
  }
}

void TrackerTable::translate(std::vector<std::string>& cells) const {
  if (!is_export() || cells.size() != columns_.size()) return;
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string& cell = cells[i];
    if (cell.empty()) continue;
    if (columns_[i].empty() || is_nothing(cell)) {
      cell.clear();
    } else if (rows_[i]) {
      cell = key_value(*rows_[i], cell);
    } else if (cell == "True" || cell == "False") {
      cell = cell == "True" ? "true" : "false";
    }
  }
}

std::string TrackerTable::described() const {
  std::string read;
  for (size_t i = 0; i < header_.size(); ++i) {
    const bool state = rows_[i] && rows_[i]->value == OtherName::Value::kUnfinished;
    if (!read_[i] || state) continue;
    read +=
        fmt::format("{}{} is {}", read.empty() ? "" : ", ", shortened(header_[i], 60), columns_[i]);
  }
  return fmt::format("an export of {}: {}; other columns are not read", tracker_,
                     read.empty() ? "no column is known" : read);
}

}  // namespace plimsoll
