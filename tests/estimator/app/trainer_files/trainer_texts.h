// One file of each program, as its users write it.
#pragma once

namespace plimsoll::test {

// pytorch/torchtitan, torchtitan/models/llama3/train_configs/llama3_8b.toml
inline constexpr const char* kTorchtitan = R"([job]
dump_folder = "./outputs"
description = "Llama 3 8B training"

[profiling]
enable_profiling = true
save_traces_folder = "profile_trace"
profile_freq = 100

[metrics]
log_freq = 10
enable_tensorboard = true
save_tb_folder = "tb"

[model]
name = "llama3"
flavor = "8B"
hf_assets_path = "./assets/hf/Llama-3.1-8B"
# converters = ["quantize.linear.float8"]

[optimizer]
name = "AdamW"
lr = 3e-4
eps = 1e-8

[lr_scheduler]
warmup_steps = 200  # lr scheduler warm up

[training]
local_batch_size = 1
seq_len = 8192
max_norm = 1.0  # grad norm clipping
steps = 1000
dataset = "c4"

[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = -1
tensor_parallel_degree = 1
pipeline_parallel_degree = 1
context_parallel_degree = 1

[checkpoint]
enable = false
folder = "checkpoint"
interval = 500
last_save_model_only = true
export_dtype = "float32"
async_mode = "disabled"  # ["disabled", "async", "async_with_pinned_mem"]

[compile]
enable=false
components = ["model", "loss"]

[activation_checkpoint]
mode = "selective"  # ["none", "selective", "full"]
selective_ac_option = "op"  # "int" = ac every positive int layer or 'op', ac based on ops policy
)";

inline constexpr const char* kHfArguments =
    R"({"output_dir": "out", "per_device_train_batch_size": 4,
  "gradient_accumulation_steps": 8, "learning_rate": 2e-05, "weight_decay": 0.01,
  "max_grad_norm": 0.5, "bf16": true, "fp16": false, "tf32": true, "gradient_checkpointing": true,
  "gradient_checkpointing_kwargs": {"use_reentrant": true},
  "optim": "adamw_torch_fused", "dataloader_num_workers": 4, "torch_compile": true,
  "torch_compile_mode": null, "fsdp": ["shard_grad_op", "auto_wrap"],
  "fsdp_config": {"min_num_params": 0, "version": 1, "fsdp_offload_params": false},
  "deepspeed": null, "report_to": [], "hub_token": null})";

inline constexpr const char* kAxolotl = R"(base_model: meta-llama/Llama-3.1-8B
load_in_8bit: false
load_in_4bit: true
datasets:
  - path: mine/conversations
    type: chat_template
adapter: qlora
lora_r: 32
lora_alpha: 16
lora_dropout: 0.05
lora_target_linear: true
lora_target_modules:
sequence_len: 4096
sample_packing: true
micro_batch_size: 2
gradient_accumulation_steps: 4
optimizer: paged_adamw_8bit
learning_rate: 2e-4
bf16: auto
fp16:
tf32: false
gradient_checkpointing: true
flash_attention: true
weight_decay: 0.0
fsdp_config:
  fsdp_version: 2
  reshard_after_forward: false
)";

inline constexpr const char* kTorchtune = R"(output_dir: out
model:
  _component_: torchtune.models.llama3_1.lora_llama3_1_8b
  lora_attn_modules: ['q_proj', 'v_proj', 'output_proj']
  apply_lora_to_mlp: True
  apply_lora_to_output: False
  lora_rank: 64
  lora_alpha: 128
  lora_dropout: 0.0
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  path: tokenizer.model
  max_seq_len: 2048
batch_size: 2
optimizer:
  _component_: torch.optim.AdamW
  fused: True
  weight_decay: 0.01
  lr: 3e-4
loss:
  _component_: torchtune.modules.loss.LinearCrossEntropyLoss
gradient_accumulation_steps: 8
clip_grad_norm: null
compile: False
dtype: bf16
enable_activation_checkpointing: True
enable_activation_offloading: False
)";

inline constexpr const char* kAccelerate = R"(compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_version: 2
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_reshard_after_forward: true
  fsdp_activation_checkpointing: true
  fsdp_offload_params: true
mixed_precision: bf16
num_machines: 2
num_processes: 16
)";

}  // namespace plimsoll::test
