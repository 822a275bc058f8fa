#include "estimator/app/cli/other_words.h"

#include <algorithm>
#include <array>

namespace plimsoll::cli {
namespace {

struct OtherWords {
  std::array<std::string_view, 8> flags;
  std::string_view help;
};

constexpr std::string_view kSharded =
    "--gpus N --fsdp shards weights, gradients and states by PyTorch's FSDP2, --zero 1, 2 or 3 as "
    "DeepSpeed does";
constexpr std::string_view kSplit =
    "--tp N splits dense layers over GPUs, with --sequence-parallel what is between them too, --pp "
    "N "
    "makes stages of blocks; sequences and experts are not split";
constexpr std::string_view kAdapters =
    "--finetune lora or qlora, with --lora-rank N and --lora-targets NAMES; --freeze 'GLOB' "
    "selects weights that are not trained";
constexpr std::string_view kQuantized =
    "--quantize nf4, nf4-double, int8, gptq-4bit or fp8: how frozen weights are stored";
constexpr std::string_view kServing =
    "--mode serve: inference with a cache of keys and values; --batch N sequences of --dim "
    "sequence=N positions";
constexpr std::string_view kBatch = "--batch N: samples per GPU and step";
constexpr std::string_view kSequence = "--dim sequence=N; 'plimsoll models NAME' lists dimensions";
constexpr std::string_view kImage = "--image N: height and width of images";

constexpr OtherWords kRows[] = {
    {{"--fsdp2", "--zero-stage", "--zero3", "--deepspeed", "--sharding", "--sharding-strategy"},
     kSharded},
    {{"--tensor-parallel", "--pipeline-parallel", "--tensor-parallel-size",
      "--pipeline-parallel-size", "--cp", "--ep"},
     kSplit},
    {{"--offload", "--cpu-offload", "--offload-optimizer", "--offload-params"},
     "what is kept in the host's memory meanwhile is not modelled; --checkpoint blocks saves "
     "feature maps, --optimizer sgd states"},
    {{"--lora", "--lora-r", "--qlora", "--peft", "--adapter", "--dora"}, kAdapters},
    {{"--quantization", "--load-in-4bit", "--load-in-8bit", "--nf4", "--int8", "--int4"},
     kQuantized},
    {{"--kv-cache", "--context-length", "--max-model-len", "--kv-cache-dtype", "--concurrency",
      "--prompt-length"},
     kServing},
    {{"-b", "--bs", "--batch-size", "--batch_size", "--micro-batch", "--micro-batch-size",
      "--per-device-train-batch-size", "--per_device_train_batch_size"},
     kBatch},
    {{"--seq-len", "--seq-length", "--seqlen", "--seq", "--sequence-length", "--max-length",
      "--max-seq-length", "--block-size"},
     kSequence},
    {{"--img-size", "--image-size", "--imgsz", "--resolution", "--input-size", "--height",
      "--width"},
     kImage},
    {{"--gradient-accumulation-steps", "--accumulation", "--grad-accum", "--accum-iter"},
     "--accumulate N: forward-backward passes per update"},
    {{"--gradient-checkpointing", "--activation-checkpointing", "--recompute", "--grad-checkpoint"},
     "--checkpoint blocks, or a module's path"},
    {{"--dtype", "--amp", "--bf16", "--fp16", "--half", "--mixed-precision", "--torch-dtype"},
     "--precision amp-bf16, amp-fp16, bf16, fp16, tf32 or fp32"},
    {{"--ngpus", "--num-gpus", "--n-gpus", "--nproc-per-node", "--world-size", "--devices"},
     "--gpus N, and --nodes N for several machines"},
    {{"--memory", "--vram", "--gpu-memory", "--max-memory"},
     "--mem SIZE, such as 10GiB: capacity instead of the GPU's"},
    {{"--wide"}, "--wide is for verbs that print tables; --json has all"},
};

}  // namespace

std::string_view help_for_other(std::string_view flag) {
  for (const OtherWords& row : kRows) {
    if (!flag.empty() && std::ranges::find(row.flags, flag) != row.flags.end()) return row.help;
  }
  return {};
}

}  // namespace plimsoll::cli
