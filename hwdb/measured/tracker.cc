#include "hwdb/measured/tracker.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <variant>

#include "graph/base/escape.h"
#include "graph/base/text.h"
#include "hwdb/measured/keys.h"

namespace plimsoll {

// A column of trackers, and what of its cell becomes the key's value.
struct TrackerColumn {
  enum class Cell : uint8_t { kAsIs, kScaled, kInverse, kIfTrue, kHub, kUnfinished };

  std::string_view name, key;
  Cell cell = Cell::kAsIs;
  double factor = 1;           // kScaled: value = cell x factor; kInverse: factor / cell
  std::string_view if_true{};  // kIfTrue
};

namespace {

using TrackerCell = TrackerColumn::Cell;

constexpr double kPerMebibyte = 1. / (1 << 20);

// Rows of one key: the first says most. Names are those of transformers' TrainingArguments, which
// its callbacks log to both trackers, of Lightning's Trainer, of torch.cuda's counters (bytes), and
// of the trackers' own system metrics (mlflow/system_metrics/metrics/gpu_monitor.py: 10^6 bytes;
// wandb's system metrics: memoryAllocatedBytes).
constexpr TrackerColumn kColumns[] = {
    {"status", "run_failed", TrackerCell::kUnfinished},
    {"State", "run_failed", TrackerCell::kUnfinished},
    {"model", "model", TrackerCell::kHub},
    {"model_name_or_path", "model", TrackerCell::kHub},
    {"_name_or_path", "model", TrackerCell::kHub},
    {"model_name", "model", TrackerCell::kHub},
    {"arch", "model"},
    {"per_device_train_batch_size", "micro_batch"},
    {"batch_size", "batch"},
    {"train_batch_size", "batch"},
    {"gradient_accumulation_steps", "accumulation"},
    {"accumulate_grad_batches", "accumulation"},
    {"optim", "optimizer"},
    {"optimizer_name", "optimizer"},
    {"max_seq_length", "seq"},
    {"sequence_length", "seq"},
    {"seq_length", "seq"},
    {"seq_len", "seq"},
    {"block_size", "seq"},
    {"bf16", "dtype", TrackerCell::kIfTrue, 1, "amp-bf16"},
    {"fp16", "dtype", TrackerCell::kIfTrue, 1, "amp-fp16"},
    {"gradient_checkpointing", "checkpoint", TrackerCell::kIfTrue, 1, "full"},
    {"torch_compile", "compile", TrackerCell::kIfTrue, 1, "true"},
    {"lora_r", "technique"},
    {"fsdp", "parallel"},
    {"world_size", "n_gpus"},
    {"num_gpus", "n_gpus"},
    {"GPU Count", "n_gpus"},
    {"gpu_name", "device"},
    {"gpu_type", "device"},
    {"GPU Type", "device"},
    {"gpu", "device"},
    {"step_time_ms", "total_ms"},
    {"step_time_s", "total_ms", TrackerCell::kScaled, 1000},
    {"seconds_per_step", "total_ms", TrackerCell::kScaled, 1000},
    {"train_steps_per_second", "total_ms", TrackerCell::kInverse, 1000},
    {"max_memory_allocated", "peak_allocated_bytes"},
    {"max_memory_allocated_mb", "peak_allocated_mb"},
    {"max_memory_allocated_gb", "peak_allocated_gb"},
    {"max_memory_reserved", "peak_reserved_bytes"},
    {"system.gpu.process.0.memoryAllocatedBytes", "nvidia_smi_bytes"},
    {"system/gpu_0_memory_usage_megabytes", "device_used_mb", TrackerCell::kScaled,
     1e6 * kPerMebibyte},
    {"system.gpu.0.memoryAllocatedBytes", "device_used_mb", TrackerCell::kScaled, kPerMebibyte},
};

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

bool is_switch(const TrackerColumn& row) { return row.cell == TrackerCell::kIfTrue; }

bool is_yes(const std::string& cell) { return cell == "True" || cell == "true"; }
bool is_nothing(const std::string& cell) {
  return cell == "None" || cell == "null" || cell == "nan" || cell == "NaN" || cell == "[]";
}

std::string number_text(double value) { return fmt::format("{:.17g}", value); }

std::string translated(const TrackerColumn& column, const std::string& cell) {
  const auto number = parse_number<double>(cell);
  switch (column.cell) {
    case TrackerCell::kAsIs:
      return cell;
    case TrackerCell::kScaled:
      return number ? number_text(*number * column.factor) : cell;
    case TrackerCell::kInverse:
      return number && *number > 0 ? number_text(column.factor / *number) : cell;
    case TrackerCell::kIfTrue:
      return is_yes(cell) ? std::string(column.if_true) : "";
    case TrackerCell::kHub:  // a path of this machine has a dot or a slash in front
      return cell.find('/') == cell.npos || cell.find_first_of("./~") == 0 ? cell : "hf:" + cell;
    case TrackerCell::kUnfinished:
      return cell == "FINISHED" || cell == "finished" ? "" : "true";
  }
  return cell;
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
  const auto read = [&](std::string_view name, std::string_view key, const TrackerColumn* row) {
    for (size_t i = 0; i < header_.size(); ++i) {
      if (read_[i] || bare(header_[i]) != name || has_column(key, row && is_switch(*row))) continue;
      columns_[i] = key;
      rows_[i] = row;
      read_[i] = true;
    }
  };
  for (const std::string_view setting : kSettings) read(setting, setting, nullptr);
  for (const TrackerColumn& row : kColumns) read(row.name, row.key, &row);
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
      cell = translated(*rows_[i], cell);
    } else if (cell == "True" || cell == "False") {
      cell = is_yes(cell) ? "true" : "false";
    }
  }
}

std::string TrackerTable::described() const {
  std::string read;
  for (size_t i = 0; i < header_.size(); ++i) {
    const bool state = rows_[i] && rows_[i]->cell == TrackerCell::kUnfinished;
    if (!read_[i] || state) continue;
    read +=
        fmt::format("{}{} is {}", read.empty() ? "" : ", ", shortened(header_[i], 60), columns_[i]);
  }
  return fmt::format("an export of {}: {}; other columns are not read", tracker_,
                     read.empty() ? "no column is known" : read);
}

}  // namespace plimsoll
