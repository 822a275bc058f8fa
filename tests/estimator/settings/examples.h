// Values of each setting that an answer can be asked for with: words, bounds and switches as the
// row has them, the rest from a table.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "estimator/settings/given_settings.h"

namespace plimsoll::test {

struct SettingExample {
  std::string_view setting;
  std::vector<std::string> texts;
  // Settings without which it moves nothing.
  std::string_view beside = {}, beside_text = {};
  std::string_view also = {}, also_text = {};
};

// Of rows whose values are no words, counts or sizes.
inline const std::vector<SettingExample>& setting_examples() {
  static const std::vector<SettingExample> kExamples = {
      {"batch", {"7", "8"}},
      {"image", {"64"}},
      {"dim", {"sequence=48"}},
      {"set", {"width=3"}},
      {"shape", {"x=8x3x64x64"}},
      {"longest", {"sequence=96"}},
      {"lengths", {"sequence=16:0.25,32:0.75"}},
      {"trip", {"loop=3"}},
      {"branch", {"if=then"}},
      {"contents", {"sizes=1,64,-1"}},
      {"assume", {"Strange=FREE"}},
      {"limit", {"nodes=5000000"}},
      {"checkpoint", {"blocks"}},
      {"freeze", {"*"}},
      {"train", {"*"}, "freeze", "*"},
      {"dropout", {"none", "0.25"}},
      {"gpu", {"tesla-t4"}},
      {"mem", {"5GiB"}},
      {"hwdb", {"."}},
      {"framework", {"pytorch-1.13"}},
      {"cudnn", {"7.3", "8.9"}},
      {"cuda", {"9.0", "12.8"}},
      {"workspace-limit", {"0", "64MiB"}},
      {"conv-algo", {"im2col", "FFT"}},
      {"optimizer", {"sgd", "adam"}},
      {"clip-grad-norm", {"1", "0.5"}},
      {"norm-copies", {""}, "clip-grad-norm", "1", "precision", "mixed-bf16"},
      {"load", {"checkpoint"}},
      {"loss-form", {"fused"}, "loss", "causal_lm"},
      {"score-metrics", {"2", "1"}, "loss", "causal_lm"},
      {"eval-gather", {"3"}, "eval-batch", "2"},
      {"use-cache", {"on"}, "mode", "inference"},
      {"loss-shift", {"logits"}, "loss", "causal_lm"},
      {"keep-outputs", {"off"}, "loss", "causal_lm"},
      {"last-outputs", {"on"}, "loss", "causal_lm"},
      {"widen-outputs", {"fabric"}, "precision", "bf16"},
      {"loss-chunks", {"3", "5"}, "loss", "causal_lm", "loss-form", "chunked"},
      {"precision", {"amp-fp16"}},
      {"half-norms", {"on"}, "precision", "amp-fp16"},
      {"allocator", {"roundup_power2_divisions:1", "expandable_segments:True"}},
      {"prefetch", {"64"}},
      {"link", {"pcie-2-x16"}, "gpus", "2"},
      {"network", {"ethernet-10g"}, "nodes", "2"},
      {"nodes", {"2"}, "network", "ethernet-10g"},
      {"host", {"dgx-1"}},
      {"cpu", {"Xeon E5-2620 v4"}},
      {"exchange", {"tree", "parameter-server"}, "gpus", "2"},
      {"finetune", {"lora", "qlora"}},
      {"lora-rank", {"16"}, "finetune", "lora"},
      {"lora-alpha", {"16"}, "finetune", "lora"},
      {"lora-dropout", {"0.5"}, "finetune", "lora"},
      {"lora-targets", {"up"}, "finetune", "lora"},
      {"lora-upcast", {"off"}, "finetune", "lora"},
      {"lora-form", {"litgpt"}, "finetune", "lora"},
      {"lora-in-blocks", {""}, "finetune", "lora", "fsdp-version", "1"},
      {"use-reentrant", {""}, "checkpoint", "blocks"},
      {"quantizer", {"fabric"}, "finetune", "qlora"},
      {"bitsandbytes", {"0.42"}, "finetune", "qlora"},
      {"kbit-prepare", {"off", "norms"}, "finetune", "qlora"},
      {"parallel", {"fsdp=2"}},
      {"fsdp", {"all", "4"}, "gpus", "4"},
      {"zero", {"1", "2", "3"}, "gpus", "4"},
      {"zero-group", {"2"}, "zero", "1", "gpus", "4"},
      {"zero-bucket", {"1000000"}, "zero", "2", "gpus", "4"},
      {"zero-prefetch", {"1000"}, "zero", "3", "gpus", "4"},
      {"zero-live", {"1000"}, "zero", "3", "gpus", "4"},
      {"zero-persistent", {"1000"}, "zero", "3", "gpus", "4"},
      {"reduce-dtype", {"bf16"}, "fsdp", "2"},
      {"fsdp-version", {"2", "1"}, "fsdp", "2"},
      {"master-copies", {""}, "fsdp", "2", "precision", "mixed-bf16"},
      {"no-sync", {""}, "fsdp", "2", "accumulate", "3"},
      {"offload", {"states", "parameters", "activations"}, "zero", "3", "gpus", "2"},
      {"tp", {"2"}},
      {"sequence-parallel", {""}, "tp", "2"},
      {"tp-overlap", {""}, "tp", "2"},
      {"split-loss", {"megatron"}, "tp", "2"},
      {"gradient-buffer", {"as-ready", "after-pass", "until-next"}},
      {"pp", {"2"}},
      {"schedule", {"1f1b", "gpipe", "interleaved", "zb"}, "pp", "2", "micro-batches", "4"},
      {"virtual-stages", {"3"}, "parallel", "pp=2,vp=2", "micro-batches", "4"},
      {"stage-balance", {"cost"}, "pp", "2"},
      {"cp", {"2"}},
      {"cp-kind", {"allgather", "ulysses"}, "cp", "2"},
      {"ep", {"2"}},
      {"capacity", {"1.5"}, "ep", "2"},
      {"micro-batches", {"3"}, "pp", "2"},
      {"rank", {"1"}, "fsdp", "3"},
      {"engine", {"vllm"}, "mode", "serve"},
      {"memory-share", {"0.5"}, "engine", "vllm", "mode", "serve"},
      {"pass-tokens", {"64", "4096"}, "engine", "vllm", "mode", "serve"},
      {"epochs", {"3"}, "samples", "5000"}};
  return kExamples;
}

// As the command line has them.
inline std::vector<std::string> texts_for(const SettingRow& row) {
  const auto& known = setting_examples();
  const auto example = std::ranges::find(known, row.name, &SettingExample::setting);
  if (example != known.end()) return example->texts;
  using Type = SettingValue::Type;
  if (row.value.form == SettingValue::Form::kSwitch) return {""};
  if (row.value.words) return row.value.words();
  if (row.value.type == Type::kCount) return {std::to_string(row.value.low + 2)};
  if (row.value.type == Type::kSize) return {"1GiB"};
  return {};
}

}  // namespace plimsoll::test
