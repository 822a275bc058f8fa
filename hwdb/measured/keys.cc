#include "hwdb/measured/keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "hwdb/measured/finetune_key.h"
#include "hwdb/measured/loose_keys.h"
#include "hwdb/measured/parallel_keys.h"

namespace plimsoll {
namespace {

using R = MeasuredRun;

const MeasuredKey kKeys[] = {
    {"device", &R::device},
    {"framework", &R::framework},
    {"framework_version", &R::framework_version},
    {"cudnn", &R::cudnn},
    {"cuda", &R::cuda},
    {"library", &R::library},
    {"conv_library", &R::conv_library},
    {"dtype", &R::dtype},
    {"precision", &R::dtype},
    {"mixed_precision", &R::mixed_precision},
    {"device_inferred", &R::device_inferred},
    {"op", &R::op},
    {"pass", &R::pass},
    {"variant", &R::variant},
    {"algo", &R::algo},
    {"kernel", &R::kernel},
    {"n", &R::n},
    {"c", &R::c},
    {"h", &R::h},
    {"w", &R::w},
    {"k", &R::k},
    {"r", &R::r},
    {"s", &R::s},
    {"pad_h", &R::pad_h},
    {"pad_w", &R::pad_w},
    {"stride_h", &R::stride_h},
    {"stride_w", &R::stride_w},
    {"dil_h", &R::dil_h},
    {"dil_w", &R::dil_w},
    {"group", &R::group},
    {"groups", &R::group},
    {"m", &R::m},
    {"batch_count", &R::batch_count},
    {"accumulate", &R::accumulate},
    {"cell", &R::cell},
    {"input_mode", &R::input_mode},
    {"timesteps", &R::timesteps},
    {"layers", &R::layers},
    {"vocab", &R::vocab},
    {"input_size", &R::input_size},
    {"directions", &R::directions},
    {"form", &R::form},
    {"heads", &R::heads},
    {"kv_heads", &R::kv_heads},
    {"queries", &R::queries},
    {"keys", &R::keys},
    {"head_size", &R::head_size},
    {"value_size", &R::value_size},
    {"causal", &R::causal},
    {"masked", &R::masked},
    {"count_padding", &R::count_padding},
    {"function", &R::function},
    {"rows", &R::rows},
    {"cols", &R::cols},
    {"tensors_moved", &R::tensors_moved},
    {"read_bytes", &R::read_bytes},
    {"written_bytes", &R::written_bytes},
    {"flop", &R::flop},
    {"net", &R::net},
    {"layer", &R::layer},
    {"layer_type", &R::layer_type},
    {"conv_engine", &R::conv_engine},
    {"inplace", &R::inplace},
    {"out", &R::out},
    {"tensor", &R::tensor},
    {"model", &R::model},
    {"model_sha256", &R::model_sha256},
    {"network", &R::network},
    {"mode", &R::mode},
    {"optimizer", &R::optimizer},
    {"architecture", &R::architecture},
    {"batch", &R::batch},
    {"least_batch", &R::least_batch},
    {"dataset", &R::dataset},
    {"samples", &R::samples},
    {"batch_per_gpu", &R::batch_per_gpu},
    {"micro_batch", &R::micro_batch},
    {"accumulation", &R::accumulation},
    {"checkpoint", &R::checkpoint},
    {"use_reentrant", &R::use_reentrant},
    {"finetune", &R::finetune},
    {"lora_rank", &R::lora_rank},
    {"lora_alpha", &R::lora_alpha},
    {"adapter_fp32", &R::adapter_fp32},
    {"kbit_prepare", &R::kbit_prepare},
    {"bitsandbytes", &R::bitsandbytes},
    {"quantizer", &R::quantizer},
    {"lora_form", &R::lora_form},
    {"trainer", &R::trainer},
    {"lora_in_blocks", &R::lora_in_blocks},
    {"loss_form", &R::loss_form},
    {"loss_shift", &R::loss_shift},
    {"keep_outputs", &R::keep_outputs},
    {"last_outputs", &R::last_outputs},
    {"widen_outputs", &R::widen_outputs},
    {"lora_targets", &R::lora_targets},
    {"quantize", &R::quantize},
    {"n_gpus", &R::n_gpus},
    {"parallel", &R::parallel},
    {"zero_stage", &R::zero_stage},
    {"zero_group", &R::zero_group},
    {"fsdp_version", &R::fsdp_version},
    {"schedule", &R::schedule},
    {"no_sync", &R::no_sync},
    {"offload", &R::offload},
    {"sequence_parallel", &R::sequence_parallel},
    {"tp_overlap", &R::tp_overlap},
    {"node_link", &R::node_link},
    {"linear_widths", &R::linear_widths},
    {"output", &R::output},
    {"activation", &R::activation},
    {"batchnorm", &R::batchnorm},
    {"recompute", &R::recompute},
    {"link", &R::link},
    {"memory_option", &R::memory_option},
    {"optimisation", &R::optimisation},
    {"variable_update", &R::variable_update},
    {"parallelism", &R::parallelism},
    {"layout", &R::layout},
    {"algorithm", &R::algorithm},
    {"bytes", &R::bytes},
    {"loss", &R::loss},
    {"host", &R::host},
    {"cpu", &R::cpu},
    {"workers", &R::workers},
    {"loader", &R::loader},
    {"meter", &R::meter},
    {"cudnn_benchmark", &R::cudnn_benchmark},
    {"input_gradient", &R::input_gradient},
    {"input_copy", &R::input_copy},
    {"weight_decay", &R::weight_decay},
    {"compile", &R::compiled},
    {"cuda_graphs", &R::cuda_graphs},
    {"batch_statistics", &R::batch_statistics},
    {"prefetch", &R::prefetch},
    {"attention", &R::attention},
    {"zero_grad", &R::zero_grad},
    {"half_norms", &R::half_norms},
    {"exchange", &R::exchange},
    {"module_loading", &R::module_loading},
    {"allocator", &R::allocator},
    {"cudnn_rnn", &R::cudnn_rnn},
    {"own_size", &R::own_size},
    {"retains_activations", &R::retains_activations},
    {"quantity", &R::quantity},
    {"unit", &R::unit},
    {"result", &R::result},
    {"time_is_derived", &R::time_is_derived},
    {"flags", &R::flags},
    {"time_ms", Above{}},
    {"total_ms", Above{}},
    {"gpu_ms", Above{}},
    {"forward_ms", Above{}},
    {"backward_ms", Above{}},
    {"backward_data_ms", Above{}},
    {"backward_weights_ms", Above{}},
    {"images_per_s", Above{}},
    {"sequences_per_s", Above{}},
    {"bus_bandwidth_gb_s", Above{}},
    {"nvidia_smi_mb", Above{}},
    {"device_used_mb", Above{}},
    {"host_mb", Above{}},
    {"nvidia_smi_gb", Above{}},
    {"nvidia_smi_gib", Above{}},
    {"nvidia_smi_bytes", Above{}},
    {"peak_allocated_mb", Above{}},
    {"peak_allocated_gb", Above{}},
    {"peak_allocated_gib", Above{}},
    {"peak_allocated_bytes", Above{}},
    {"peak_reserved_mb", Above{}},
    {"peak_reserved_gb", Above{}},
    {"peak_reserved_gib", Above{}},
    {"peak_reserved_bytes", Above{}},
    {"peak_memory_mb", Above{}},
    {"peak_memory_gb", Above{}},
    {"peak_memory_gib", Above{}},
    {"peak_memory_bytes", Above{}},
    {"persistent_bytes", Above{}},
    {"allocated_after_mb", Above{}},
    {"allocated_after_step_mb", Above{}},
    {"allocated_after_step_mean_gib", Above{}},
    {"tokens_per_step_mean", Above{}},
    {"memory_counter", &R::memory_counter},
    {"out_of_memory", &R::out_of_memory},
    {"ran", &R::ran},
    {"seq_is_maximum", &R::seq_is_maximum},
    {"resolution", &R::resolution},
    {"total_mb", Above{}},
    {"outputs_mb", Above{}},
    {"grad_inputs_mb", Above{}},
    {"internal_buffers_mb", Above{}},
    {"parameters_and_gradients_mb", Above{}},
    {"train_memory_gb", Above{}},
    {"workspace_bytes", FromZero{}},
    {"value", FromZero{}},
    {"value_mib", FromZero{}},
    {"duration_pct", FromZero{}},
    {"fp32_utilisation_pct", FromZero{}},
};

void take_measurement(JsonObject& record, MeasuredRun& run, std::string_view key, bool zero) {
  const auto value = record.optional_real(key);
  if (!value) return;
  const JsonValue& at = *record.value().find(key);
  if (*value < 0) {
    record.fail("E513", fmt::format("{} is negative: {}", key, at.description()), at);
  } else if (*value == 0 && !zero) {
    record.fail("E514", fmt::format("{} is 0: nothing was measured", key), at);
  } else {
    run.measured.push_back({std::string(key), *value});
  }
}

struct Take {
  JsonObject& record;
  MeasuredRun& run;
  std::string_view key;

  void operator()(std::string MeasuredRun::*member) const {
    run.*member = record.optional_string(key).value_or("");
  }
  void operator()(std::optional<int64_t> MeasuredRun::*member) const {
    run.*member = record.optional_integer(key, {.low = 0});
  }
  void operator()(std::optional<bool> MeasuredRun::*member) const {
    run.*member = record.optional_bool(key);
  }
  void operator()(std::vector<int64_t> MeasuredRun::*member) const {
    run.*member = record.optional_integers(key, {.low = 0}).value_or(std::vector<int64_t>());
  }
  void operator()(std::vector<std::string> MeasuredRun::*member) const {
    run.*member = record.optional_strings(key);
  }
  void operator()(Above) const { take_measurement(record, run, key, false); }
  void operator()(FromZero) const { take_measurement(record, run, key, true); }
};

// Takes a member over where the run has nothing there.
struct Complete {
  MeasuredRun& run;
  const MeasuredRun& defaults;

  template <class T>
  void operator()(std::vector<T> MeasuredRun::*member) const {
    if ((run.*member).empty()) run.*member = defaults.*member;
  }
  void operator()(std::string MeasuredRun::*member) const {
    if ((run.*member).empty()) run.*member = defaults.*member;
  }
  template <class T>
  void operator()(std::optional<T> MeasuredRun::*member) const {
    if (!(run.*member)) run.*member = defaults.*member;
  }
  void operator()(Above) const {}
  void operator()(FromZero) const {}
};

// A member as the value that its key had.
struct Tell {
  const MeasuredRun& run;

  std::optional<JsonValue> operator()(std::string MeasuredRun::*member) const {
    return (run.*member).empty() ? std::nullopt : std::optional(JsonValue{.data = run.*member});
  }
  std::optional<JsonValue> operator()(std::optional<int64_t> MeasuredRun::*member) const {
    if (!(run.*member)) return std::nullopt;
    const int64_t value = *(run.*member);
    return JsonValue{.data = JsonNumber{std::to_string(value), static_cast<double>(value), true}};
  }
  std::optional<JsonValue> operator()(std::optional<bool> MeasuredRun::*member) const {
    return run.*member ? std::optional(JsonValue{.data = *(run.*member)}) : std::nullopt;
  }
  template <class Other>
  std::optional<JsonValue> operator()(const Other&) const {
    return std::nullopt;  // lists and measurements are read by those who want them
  }
};

}  // namespace

std::span<const MeasuredKey> measured_keys() { return kKeys; }

const MeasuredKey* find_measured_key(std::string_view name) {
  const auto found = std::find_if(std::begin(kKeys), std::end(kKeys),
                                  [&](const MeasuredKey& key) { return key.name == name; });
  return found == std::end(kKeys) ? nullptr : found;
}

namespace {

// Keys that say several things at once, as an object; offload may be nothing, or false.
bool is_composed(const JsonMember& member) {
  if (member.key == "offload") return !member.value.string();
  return member.value.members() && (member.key == "finetune" || member.key == "parallel");
}

// Of {"parameters": true, "activations": false} the names that are true: "parameters".
std::string flags_of(const JsonValue::Members& members) {
  std::string text;
  for (const JsonMember& member : members) {
    if (member.value.boolean() != true) continue;
    text += (text.empty() ? "" : ",") + member.key;
  }
  return text;
}

}  // namespace

void decode_run(JsonObject& record, MeasuredRun& run) {
  run.line = record.value().line;
  const JsonValue::Members* members = record.value().members();
  if (!members) return;
  // By what is there: a record has some twenty of the keys.
  for (const JsonMember& member : *members) {
    if (is_composed(member)) continue;
    if (const MeasuredKey* key = find_measured_key(member.key)) {
      std::visit(Take{record, run, key->name}, key->member);
    } else if (!is_loose_key(member.key) || (member.key == "nodes" && !member.value.integer())) {
      run.notes.push_back(member);
    }
  }
  take_loose_keys(record, run);
  if (const JsonValue* made = record.value().find("finetune"); made && made->members())
    take_finetune(*made, run);
  if (const JsonValue* axes = record.value().find("parallel"); axes && axes->members())
    take_parallel(*axes, run);
  if (const JsonValue* host = record.value().find("offload"); host && host->members())
    run.offload = flags_of(*host->members());
}

std::optional<JsonValue> value_of(const MeasuredRun& run, std::string_view key) {
  if (const MeasuredKey* known = find_measured_key(key))
    return std::visit(Tell{run}, known->member);
  const auto note = std::ranges::find(run.notes, key, &JsonMember::key);
  return note == run.notes.end() ? std::nullopt : std::optional(note->value);
}

void complete_run(MeasuredRun& run, const MeasuredRun& defaults) {
  const Complete complete{run, defaults};
  for (const MeasuredKey& key : kKeys) std::visit(complete, key.member);
  complete(&MeasuredRun::sequence);
  complete(&MeasuredRun::has_dropout);
}

}  // namespace plimsoll
