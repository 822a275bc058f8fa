#include "hwdb/measured/ignored_keys.h"

#include <algorithm>

#include "graph/base/text.h"

namespace plimsoll {
namespace {

constexpr IgnoredKey kIgnoredKeys[] = {
    // What is trained, and how.
    {"local_batch", "samples per GPU of a whole pipeline; micro_batch is read", true},
    {"batch_per_dp_rank", "samples per update of each data-parallel group", true},
    {"accumulate_steps", "forward-backward passes per update; accumulation is read", true, "1"},
    {"optimizer_in_backward", "each weight is updated as its gradient comes", true, "false null"},
    {"ema", "a moving average of the weights", true, "false null"},
    {"amp", "mixed precision of either type", true, "false null"},
    {"fused", "one kernel updates all weights; optimizer is read", true, "false null"},
    {"foreach", "a kernel updates many weights; optimizer is read", true, "true null"},
    {"load_in_4bit", "frozen weights are quantized; quantize is read", true, "false null"},
    {"load_in_8bit", "frozen weights are quantized; quantize is read", true, "false null"},
    {"quantization", "frozen weights are quantized; quantize is read", true, "null none false"},
    {"quantization_bit", "frozen weights are quantized; quantize is read", true, "null none"},
    {"use_peft", "adapters are trained; finetune is read", true, "false null"},
    {"use_lora", "adapters are trained; finetune is read", true, "false null"},
    {"lora", "adapters are trained; finetune is read", true, "false null none"},
    {"paged", "states may lie in the host's memory", true, "false null"},
    {"freeze", "some weights are not trained", true, "false null none"},
    {"frozen", "some weights are not trained", true, "false null none 0"},
    {"num_classes", "the size of the last layer", true, "null"},
    {"strategy", "how it is spread over GPUs; parallel is read", true,
     "null none auto ddp single_device"},
    {"compile_mode", "more than fusing by torch.compile", true, "null default"},
    {"packed", "samples are joined to full sequences of length seq"},
    {"seq_is_config_default", "seq is not printed: it is the program's default of that time"},
    {"dims", "sizes of the model; seq and input are read", true, "null {}"},
    {"memory_format", "the order of axes; layout is read", true,
     "null contiguous contiguous_format torch.contiguous_format"},
    {"cameras", "images per sample", true, "1"},
    // How it is spread over GPUs and memories.
    {"cpu_offload", "what is kept in the host's memory meanwhile", true, "null none false"},
    {"offload_optimizer", "states are kept in the host's memory", true, "null none false"},
    {"offload_optimizer_device", "states are kept in the host's memory", true, "null none"},
    {"offload_param", "weights are kept in the host's memory", true, "null none false"},
    {"offload_params", "weights are kept in the host's memory", true, "null none false"},
    {"offload_param_device", "weights are kept in the host's memory", true, "null none"},
    {"offloaded_layers", "feature maps of so many layers are in the host's memory", true, "0 null"},
    {"tensor_parallel", "layers are split; parallel is read", true, "1 null"},
    {"tensor_parallel_size", "layers are split; parallel is read", true, "1 null"},
    {"tensor_model_parallel_size", "layers are split; parallel is read", true, "1 null"},
    {"pipeline_parallel", "stages of layers; parallel is read", true, "1 null"},
    {"pipeline_parallel_size", "stages of layers; parallel is read", true, "1 null"},
    {"pipeline_model_parallel_size", "stages of layers; parallel is read", true, "1 null"},
    {"context_parallel", "sequences are split", true, "1 null"},
    {"context_parallel_size", "sequences are split", true, "1 null"},
    {"expert_parallel", "experts are split", true, "1 null"},
    {"expert_parallel_size", "experts are split", true, "1 null"},
    {"tp", "layers are split; parallel is read", true, "1 null"},
    {"pp", "stages of layers; parallel is read", true, "1 null"},
    {"cp", "sequences are split", true, "1 null"},
    {"ep", "experts are split", true, "1 null"},
    // Whose kernels run.
    {"kernels", "libraries of fused kernels in addition to the framework's", true, "null none"},
    {"framework_config", "fused kernels and quantisation, in the source's words", true,
     "null none"},
    {"liger", "Liger's fused kernels", true, "null false"},
    {"use_liger_kernel", "Liger's fused kernels", true, "null false"},
    {"use_liger", "Liger's fused kernels", true, "null false"},
    {"unsloth", "Unsloth's fused kernels", true, "null false"},
    {"use_unsloth", "Unsloth's fused kernels", true, "null false"},
    {"deepspeed", "DeepSpeed holds weights, gradients and states", true, "null false"},
    {"technique", "what the source varies, in its words", true},
    {"run_failed", "the run did not end", true, "false null"},
    {"precision_printed", "the precision in the source's words: FP8 and narrower", true,
     "BF16 bf16 FP16 fp16 FP32 fp32 TF32 tf32"},
    // What says more of the same run.
    {"xla", "TensorFlow's graph was compiled by XLA: it is predicted without"},
    {"image", "height and width, which input has too"},
    {"parameters", "elements of all weights"},
    {"epochs", "of the whole run"},
    {"total_parameters", "elements of all weights, adapters with them"},
    {"interconnect", "what joins GPUs and machines, in words"},
    {"machine", "in words"},
    {"topology", "of the links, in words"},
    {"container", "the image of the framework"},
    {"driver", "the version of the GPU's driver"},
    {"steps", "that were timed"},
    {"total_mean_ms", "of steps that total_ms is the median or least of"},
    {"total_min_ms", "of steps that total_ms is the median or mean of"},
    {"total_median_ms", "of steps that total_ms is the least or mean of"},
    {"total_std_ms", "how steps differ in length"},
    {"tokens_per_second_per_gpu", "a rate, which total_ms is derived from"},
    {"tokens_per_second", "a rate of all GPUs, which total_ms is derived from"},
    {"mfu", "the share of the card's peak, derived"},
    {"model_tflops_per_gpu", "a rate, derived"},
    {"file", "of the source"},
    {"source", "of the record"},
    {"line", "of the file"},
    {"section", "of the source"},
    {"table", "of the source"},
    {"note", "in words"},
    {"notes", "in words"},
};

// "1", "none", "false", "null", "{}"; empty for what has no such short text.
std::string text_of(const JsonValue& value) {
  if (value.is_null()) return "null";
  if (const auto word = value.boolean()) return *word ? "true" : "false";
  if (const std::string* text = value.string()) return *text;
  if (const JsonNumber* number = value.number()) return number->text;
  return value.members() && value.members()->empty() ? "{}" : "";
}

// As many as a pass has, or as a batch has per GPU: one pass.
bool is_whole_batch(const JsonValue& value, const MeasuredRun& run) {
  const auto samples = value.integer();
  const int64_t gpus = std::max<int64_t>(1, run.n_gpus.value_or(1));
  return samples && ((run.batch && *samples * gpus == *run.batch) || samples == run.batch_per_gpu ||
                     samples == run.micro_batch);
}

bool is_neutral_note(const IgnoredKey& key, const JsonValue& value, const MeasuredRun& run) {
  const std::string text = text_of(value);
  for (std::string_view rest = key.neutral; !rest.empty();) {
    if (take_part(rest, ' ') == text) return true;
  }
  if (key.name == "run_failed") return run.ended_out_of_memory();  // which is a fact
  return key.name == "local_batch" && is_whole_batch(value, run);
}

}  // namespace

std::span<const IgnoredKey> ignored_keys() { return kIgnoredKeys; }

std::string_view changing_key(const MeasuredRun& run) {
  for (const JsonMember& note : run.notes) {
    const auto key = std::ranges::find(kIgnoredKeys, note.key, &IgnoredKey::name);
    if (key == std::end(kIgnoredKeys) || !key->changes_run) continue;
    if (!is_neutral_note(*key, note.value, run)) return key->name;
  }
  return {};
}

}  // namespace plimsoll
