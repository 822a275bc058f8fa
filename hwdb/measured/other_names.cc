#include "hwdb/measured/other_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "graph/base/escape.h"
#include "graph/base/text.h"
#include "hwdb/measured/cell_value.h"
#include "hwdb/measured/keys.h"
#include "hwdb/measured/loose_keys.h"

namespace plimsoll {
namespace {

using Value = OtherName::Value;

constexpr double kPerMebibyte = 1. / (1 << 20);

// Names are those of transformers' TrainingArguments, which its callbacks log to trackers, of
// Lightning's Trainer, of DeepSpeed's and Accelerate's configs, axolotl's, LLaMA-Factory's and
// Megatron-LM's, of torch.cuda's counters (bytes), and of trackers' own system metrics
// (mlflow/system_metrics/metrics/gpu_monitor.py: 10^6 bytes; wandb's: memoryAllocatedBytes).
constexpr OtherName kNames[] = {
    {"status", "run_failed", Value::kUnfinished},
    {"State", "run_failed", Value::kUnfinished},
    {"model", "model", Value::kHub},
    {"model_name_or_path", "model", Value::kHub},
    {"_name_or_path", "model", Value::kHub},
    {"model_name", "model", Value::kHub},
    {"base_model", "model", Value::kHub},
    {"arch", "model"},
    {"per_device_train_batch_size", "micro_batch"},
    {"train_micro_batch_size_per_gpu", "micro_batch"},
    {"micro_batch_size", "micro_batch"},
    {"per_device_batch_size", "micro_batch"},
    {"batch_size", "batch"},
    {"train_batch_size", "batch"},
    {"global_batch_size", "batch"},
    {"gradient_accumulation_steps", "accumulation"},
    {"gradient_accumulation", "accumulation"},
    {"accumulate_grad_batches", "accumulation"},
    {"grad_accum_steps", "accumulation"},
    {"grad_accum", "accumulation"},
    {"optim", "optimizer"},
    {"optimizer_name", "optimizer"},
    {"max_seq_length", "seq"},
    {"max_seq_len", "seq"},
    {"max_length", "seq"},
    {"sequence_length", "seq"},
    {"sequence_len", "seq"},
    {"seq_length", "seq"},
    {"seq_len", "seq"},
    {"seqlen", "seq"},
    {"cutoff_len", "seq"},
    {"context_length", "seq"},
    {"block_size", "seq"},
    {"image_size", "input", Value::kImage},
    {"img_size", "input", Value::kImage},
    {"imgsz", "input", Value::kImage},
    {"torch_dtype", "dtype"},
    {"bf16", "dtype", Value::kIfTrue, 1, "amp-bf16"},
    {"fp16", "dtype", Value::kIfTrue, 1, "amp-fp16"},
    {"channels_last", "layout", Value::kIfTrue, 1, "nhwc"},
    {"attn_implementation", "attention"},
    {"attention_implementation", "attention"},
    {"flash_attention", "attention", Value::kIfTrue, 1, "flash"},
    {"flash_attn", "attention", Value::kIfTrue, 1, "flash"},
    {"use_flash_attention", "attention", Value::kIfTrue, 1, "flash"},
    {"use_flash_attention_2", "attention", Value::kIfTrue, 1, "flash"},
    {"gradient_checkpointing", "checkpoint", Value::kIfTrue, 1, "full"},
    {"activation_checkpointing", "checkpoint", Value::kIfTrue, 1, "full"},
    {"torch_compile", "compile", Value::kIfTrue, 1, "true"},
    {"lora_r", "technique"},
    {"fsdp", "parallel"},
    {"zero", "zero_stage"},
    {"deepspeed_stage", "zero_stage"},
    {"zero_optimization_stage", "zero_stage"},
    {"world_size", "n_gpus"},
    {"num_gpus", "n_gpus"},
    {"gpus", "n_gpus"},
    {"num_devices", "n_gpus"},
    {"num_processes", "n_gpus"},
    {"gpu_count", "n_gpus"},
    {"GPU Count", "n_gpus"},
    {"num_nodes", "nodes"},
    {"nnodes", "nodes"},
    {"gpu_name", "device"},
    {"gpu_type", "device"},
    {"GPU Type", "device"},
    {"gpu", "device"},
    {"oom", "out_of_memory"},
    {"fits", "ran"},
    {"step_time_ms", "total_ms"},
    // In seconds, as TRL's GRPOTrainer documents the metric.
    {"step_time", "total_ms", Value::kScaled, 1000},
    {"step_time_s", "total_ms", Value::kScaled, 1000},
    {"seconds_per_step", "total_ms", Value::kScaled, 1000},
    {"train_steps_per_second", "total_ms", Value::kInverse, 1000},
    {"max_memory_allocated", "peak_allocated_bytes"},
    {"max_memory_allocated_mb", "peak_allocated_mb"},
    {"max_memory_allocated_gb", "peak_allocated_gb"},
    {"max_memory_reserved", "peak_reserved_bytes"},
    {"max_memory_reserved_mb", "peak_reserved_mb"},
    {"max_memory_reserved_gb", "peak_reserved_gb"},
    {"system.gpu.process.0.memoryAllocatedBytes", "nvidia_smi_bytes"},
    {"system/gpu_0_memory_usage_megabytes", "device_used_mb", Value::kScaled, 1e6 * kPerMebibyte},
    {"system.gpu.0.memoryAllocatedBytes", "device_used_mb", Value::kScaled, kPerMebibyte},
};

bool is_known_key(std::string_view name) {
  return name == "kind" || is_loose_key(name) || find_measured_key(name);
}

// Of a record's member; of a tracker's state nobody but a tracker tells.
const OtherName* other_name(std::string_view name) {
  if (is_known_key(name)) return nullptr;
  const auto* const found = std::ranges::find(kNames, name, &OtherName::name);
  return found == std::end(kNames) || found->value == Value::kUnfinished ? nullptr : found;
}

// Of a switch. Another word, as a compiler's mode, is the key's own, and turns on what is only on
// or off.
std::string switched(const std::string& value, std::string_view if_true) {
  constexpr std::string_view kOn[] = {"true", "1", "yes", "on"};
  constexpr std::string_view kOff[] = {"", "false", "0", "no", "off", "none", "null"};
  const std::string word = lower_case(value);
  if (std::ranges::find(kOn, word) != std::end(kOn)) return std::string(if_true);
  if (std::ranges::find(kOff, word) != std::end(kOff)) return "";
  return if_true == "true" ? std::string(if_true) : value;
}

std::string number_text(double value) { return fmt::format("{:.17g}", value); }

// Of what is one: nothing of lists and objects.
std::optional<std::string> text_of_one(const JsonValue& value) {
  if (const auto on = value.boolean()) return *on ? "true" : "false";
  if (const JsonNumber* number = value.number()) return number->text;
  if (const std::string* text = value.string()) return *text;
  return std::nullopt;
}

// Puts a value where its key is, or says that there is another one.
void put(JsonValue::Members& members, JsonMember member, std::string_view name,
         std::string_view file, Diagnostics& faults) {
  const auto same = std::ranges::find(members, member.key, &JsonMember::key);
  if (same == members.end()) {
    members.push_back(std::move(member));
  } else if (text_of_one(same->value) != text_of_one(member.value)) {
    faults.push_back(
        error("E515",
              fmt::format("{} and {} have different values", same->key, shortened(name, 60)),
              {std::string(file), member.line, member.column, {}})
            .value()
            .front());
  }
}

}  // namespace

std::span<const OtherName> other_names() { return kNames; }

std::string key_value(const OtherName& name, const std::string& value) {
  const auto number = parse_number<double>(value);
  switch (name.value) {
    case Value::kAsIs:
      return value;
    case Value::kScaled:
      return number ? number_text(*number * name.factor) : value;
    case Value::kInverse:
      return number && *number > 0 ? number_text(name.factor / *number) : value;
    case Value::kIfTrue:
      return switched(value, name.if_true);
    case Value::kHub:  // a path of this machine has a dot or a slash in front
      return value.find('/') == value.npos || value.find_first_of("./~") == 0 ? value
                                                                              : "hf:" + value;
    case Value::kImage:
      return number ? fmt::format("3x{0}x{0}", value) : value;
    case Value::kUnfinished:
      return value == "FINISHED" || value == "finished" ? "" : "true";
  }
  return value;
}

std::optional<JsonValue> with_measured_keys(const JsonValue& record, std::string_view file,
                                            std::map<std::string, std::string>& renamed,
                                            Diagnostics& faults) {
  const JsonValue::Members* const members = record.members();
  const auto has_other = [](const JsonMember& m) { return other_name(m.key) != nullptr; };
  if (!members || std::ranges::none_of(*members, has_other)) return std::nullopt;
  JsonValue::Members keyed;
  std::ranges::remove_copy_if(*members, std::back_inserter(keyed), has_other);
  for (const JsonMember& member : *members) {
    const OtherName* const row = other_name(member.key);
    const auto text = text_of_one(member.value);
    if (!row) continue;
    if (!text) {
      if (!member.value.is_null()) keyed.push_back(member);  // a note
      continue;
    }
    const Place place{std::string(file), member.line, member.column, {}};
    auto value = cell_value(row->key, key_value(*row, *text), place);
    if (!value) {
      faults.insert(faults.end(), value.error().begin(), value.error().end());
    } else if (*value) {
      renamed.emplace(member.key, row->key);
      put(keyed, {std::string(row->key), member.line, member.column, std::move(**value)},
          member.key, file, faults);
    }
  }
  return JsonValue{record.line, record.column, std::move(keyed)};
}

}  // namespace plimsoll
