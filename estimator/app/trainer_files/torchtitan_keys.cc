// torchtitan's TOML, a job's config.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "estimator/app/trainer_files/shared_words.h"
#include "estimator/app/trainer_files/trainer_program.h"
#include "estimator/app/trainer_files/trainer_settings.h"
#include "graph/base/text.h"
#include "graph/json/value.h"

namespace plimsoll {
namespace {

using Use = TrainerKey::Use;
using Others = TrainerKey::Others;

// torchtitan/models/*/__init__.py: what sizes a flavor has, as Hugging Face calls them.
constexpr TrainerWord kTitanFlavors[] = {
    {"llama3 8b", "meta-llama/Llama-3.1-8B"},
    {"llama3 70b", "meta-llama/Llama-3.1-70B"},
    {"llama3 405b", "meta-llama/Llama-3.1-405B"},
    {"qwen3 0.6b", "Qwen/Qwen3-0.6B"},
    {"qwen3 1.7b", "Qwen/Qwen3-1.7B"},
    {"qwen3 4b", "Qwen/Qwen3-4B"},
    {"qwen3 8b", "Qwen/Qwen3-8B"},
    {"qwen3 14b", "Qwen/Qwen3-14B"},
    {"qwen3 32b", "Qwen/Qwen3-32B"},
    {"qwen3 30b-a3b", "Qwen/Qwen3-30B-A3B"},
    {"qwen3 235b-a22b", "Qwen/Qwen3-235B-A22B"},
    {"deepseek_v3 671b", "deepseek-ai/DeepSeek-V3"},
};

constexpr TrainerWord kTitanOptimizers[] = {{"adamw", "adamw"}, {"adam", "adam"}};
constexpr TrainerWord kTitanStored[] = {{"float32", ""}, {"bfloat16", "bf16"}};
constexpr TrainerWord kTitanOne[] = {{"1", ""}};
constexpr TrainerWord kTitanReshards[] = {{"default", ""}, {"always", ""}, {"never", "2"}};
constexpr TrainerWord kTitanSchedules[] = {{"1f1b", "1f1b"},
                                           {"gpipe", "gpipe"},
                                           {"interleaved1f1b", "interleaved"},
                                           {"interleavedzerobubble", "zb"}};
constexpr TrainerWord kTitanRotations[] = {{"allgather", "allgather"}, {"alltoall", "ring"}};
constexpr std::string_view kTitanInBackward =
    "an update of each weight as soon as its gradient is there; all gradients are counted";

constexpr TrainerKey kTitanKeys[] = {
    {"model.name", "", {}, Use::kComposed},
    {"model.flavor", "", {}, Use::kComposed},
    {"model.converters", "", {}, Use::kComposed},
    {"optimizer.name", "optimizer", kTitanOptimizers},
    {"optimizer.implementation", "", {}, Use::kComposed},
    {"optimizer.weight_decay", "weight-decay"},
    {"optimizer.early_step_in_backward", kTitanInBackward, {}, Use::kUnmodelled},
    {"training.local_batch_size", "batch"},
    {"training.batch_size", "batch", {}, Use::kElse},
    {"training.global_batch_size", "", {}, Use::kComposed},
    {"training.seq_len", "dim.sequence"},
    {"training.max_norm", "clip-grad-norm"},
    {"training.dtype", "precision", kTitanStored},
    {"training.mixed_precision_param", "", {}, Use::kComposed},
    {"training.mixed_precision_reduce", "", {}, Use::kComposed},
    {"training.enable_cpu_offload", "offload", kOffloadsWeights, Use::kJoins},
    {"training.compile", "compile"},
    {"compile.enable", "compile"},
    {"compile.components", "", {}, Use::kComposed},
    {"activation_checkpoint.mode", "", {}, Use::kComposed},
    {"activation_checkpoint.selective_ac_option", "", {}, Use::kComposed},
    {"parallelism.data_parallel_replicate_degree", "", {}, Use::kComposed},
    {"parallelism.data_parallel_shard_degree", "", {}, Use::kComposed},
    {"parallelism.fsdp_reshard_after_forward", "zero", kTitanReshards},
    {"parallelism.tensor_parallel_degree", "tp", kTitanOne, Use::kSets, Others::kAsWritten},
    {"parallelism.context_parallel_degree", "cp", kTitanOne, Use::kSets, Others::kAsWritten},
    {"parallelism.pipeline_parallel_degree", "pp", kTitanOne, Use::kSets, Others::kAsWritten},
    {"parallelism.expert_parallel_degree", "ep", kTitanOne, Use::kSets, Others::kAsWritten},
    {"parallelism.expert_tensor_parallel_degree", "", {}, Use::kComposed},
    {"parallelism.context_parallel_rotate_method", "cp-kind", kTitanRotations},
    {"parallelism.pipeline_parallel_schedule", "schedule", kTitanSchedules},
};

constexpr std::string_view kTitanMarks[] = {"model.flavor", "training.local_batch_size",
                                            "activation_checkpoint.mode", "job.dump_folder"};

const JsonValue* value_of(const JsonValue& root, std::string_view table, std::string_view key) {
  const JsonValue* const inner = root.find(table);
  return inner ? inner->find(key) : nullptr;
}

std::string word_of(const JsonValue& root, std::string_view table, std::string_view key) {
  const JsonValue* const value = value_of(root, table, key);
  return value && value->string() ? lower_case(*value->string()) : "";
}

int64_t count_of(const JsonValue& root, std::string_view key, int64_t otherwise) {
  const JsonValue* const value = value_of(root, "parallelism", key);
  return value ? value->integer().value_or(otherwise) : otherwise;
}

void read_flavor(const JsonValue& root, TrainerSettings& settings) {
  const std::string flavor =
      word_of(root, "model", "name") + " " + word_of(root, "model", "flavor");
  const auto* const known = std::ranges::find(kTitanFlavors, flavor, &TrainerWord::written);
  if (known != std::end(kTitanFlavors)) settings.model = known->text;
}

// config/job_config.py, ActivationCheckpoint: "selective" by operator, or every so many blocks.
void read_checkpoints(const JsonValue& root, TrainerSettings& settings) {
  constexpr const char* kKey = "activation_checkpoint.mode";
  const std::string mode = word_of(root, "activation_checkpoint", "mode");
  const std::string option = word_of(root, "activation_checkpoint", "selective_ac_option");
  const bool by_operator = option.empty() || option == "op";
  if (mode == "none" || mode == "full")
    settings.add("checkpoint", mode == "full" ? "blocks" : "none", kKey);
  if (mode == "selective")
    settings.add("checkpoint", by_operator ? "operators" : "blocks/" + option, kKey);
}

// FSDP casts where weights are shared; else autocast does (distributed/utils.py, maybe_enable_amp).
void read_precision(const JsonValue& root, bool shards, TrainerSettings& settings) {
  const JsonValue* const converters = value_of(root, "model", "converters");
  const JsonValue::List* const list = converters ? converters->list() : nullptr;
  const bool float8 = list && std::ranges::any_of(*list, [](const JsonValue& one) {
                        return one.string() && one.string()->find("float8") != std::string::npos;
                      });
  if (float8 && settings.text("precision").empty())
    settings.add("precision", "mixed-fp8", "model.converters");
  const std::string word = word_of(root, "training", "mixed_precision_param");
  const bool sixteen = word.empty() || word == "bfloat16";  // by default
  if (settings.text("precision").empty())
    settings.add("precision",
                 !sixteen ? "fp32"
                 : shards ? "mixed-bf16"
                          : "amp-bf16",
                 "training.mixed_precision_param");
}

void read_reduction(const JsonValue& root, bool shards, TrainerSettings& settings) {
  const std::string word = word_of(root, "training", "mixed_precision_reduce");
  const auto* const known = std::ranges::find(kReduceWords, word, &TrainerWord::written);
  if (shards && known != std::end(kReduceWords))
    settings.add("reduce-dtype", std::string(known->text), "training.mixed_precision_reduce");
}

void read_optimizer(const JsonValue& root, TrainerSettings& settings) {
  const std::string optimizer = settings.text("optimizer");
  const std::string way = word_of(root, "optimizer", "implementation");
  if (optimizer.empty()) return;
  if (way.empty() || way == "fused") settings.replace("optimizer", optimizer + "-fused");
  if (way == "for-loop") settings.replace("optimizer", optimizer + "-loop");
}

// -1 is all GPUs that no other axis has (distributed/parallel_dims.py).
void read_axes(const JsonValue& root, TrainerSettings& settings) {
  const int64_t shards = count_of(root, "data_parallel_shard_degree", -1);
  const int64_t replicas = count_of(root, "data_parallel_replicate_degree", 1);
  if (shards != 1)
    settings.add("fsdp", shards < 0 ? "all" : std::to_string(shards),
                 "parallelism.data_parallel_shard_degree");
  if (replicas > 1 && shards > 1)
    settings.add("gpus",
                 std::to_string(replicas * shards * count_of(root, "tensor_parallel_degree", 1) *
                                count_of(root, "context_parallel_degree", 1) *
                                count_of(root, "pipeline_parallel_degree", 1)),
                 "parallelism.data_parallel_replicate_degree");
  if (replicas > 1 && shards == 1)
    settings.add("gpus", std::to_string(replicas), "parallelism.data_parallel_replicate_degree");
  const JsonValue* const global = value_of(root, "training", "global_batch_size");
  const int64_t all = global ? global->integer().value_or(-1) : -1;
  const auto batch = parse_number<int64_t>(settings.text("batch"));
  if (all <= 0 || !batch || *batch <= 0) return;
  if (shards > 0 && all % (*batch * shards * replicas) == 0) {
    settings.add("accumulate", std::to_string(all / (*batch * shards * replicas)),
                 "training.global_batch_size");
  } else {
    settings.add_note(
        "training.global_batch_size gives the passes of an update only with the "
        "number of GPUs: none is assumed");
  }
}

// Where experts are not split by features, all ranks of tensor parallelism are among those that
// share them (job_config.py, "partial dp + all tp -> ep"): each has as many of their weights as of
// fewer groups whose ranks have parts of features, as they are predicted.
void read_experts(const JsonValue& root, TrainerSettings& settings) {
  const auto shared = parse_number<int64_t>(settings.text("ep"));
  const int64_t tensor = count_of(root, "tensor_parallel_degree", 1);
  const bool whole = count_of(root, "expert_tensor_parallel_degree", 1) == 1;
  if (!shared || tensor <= 1 || !whole || *shared % tensor != 0) return;
  if (*shared == tensor) {
    settings.remove("ep");
  } else {
    settings.replace("ep", std::to_string(*shared / tensor));
  }
  settings.add_note(
      fmt::format("expert_parallel_degree {} with expert_tensor_parallel_degree 1: {} GPUs share "
                  "the features of each expert here, with the same weights on each GPU",
                  *shared, tensor));
}

void compose_titan(const JsonValue& root, TrainerSettings& settings) {
  read_flavor(root, settings);
  read_checkpoints(root, settings);
  read_axes(root, settings);
  read_experts(root, settings);
  read_precision(root, !settings.text("fsdp").empty(), settings);
  read_reduction(root, !settings.text("fsdp").empty(), settings);
  read_optimizer(root, settings);
}

}  // namespace

TrainerProgram torchtitan_program() {
  return {"torchtitan's config",
          "torchtitan",
          kTitanMarks,
          {kTitanKeys},
          "pytorch/torchtitan, torchtitan/config/job_config.py, "
          "models/llama3/train_configs/llama3_8b.toml, distributed/parallel_dims.py",
          compose_titan};
}

}  // namespace plimsoll
