#include "estimator/app/cli/other_words.h"

#include <algorithm>
#include <array>

namespace plimsoll::cli {
namespace {

struct OtherWords {
  std::array<std::string_view, 8> flags;
  std::string_view help;
  std::string_view setting = {};  // that takes the same values
  bool in_plans = true;           // a plan's parameter of this name can mean nothing else
};

constexpr std::string_view kSharded =
    "--gpus N --fsdp shards weights, gradients and states by PyTorch's FSDP2, --zero 1, 2 or 3 as "
    "DeepSpeed does";
constexpr std::string_view kSplit =
    "--tp N splits dense layers over GPUs, with --sequence-parallel also the norms between them, "
    "--pp N makes stages of blocks, --cp N splits sequences, --ep N distributes experts";
constexpr std::string_view kHybrid =
    "--parallel fsdp=N,dp=M: shards over N GPUs, in M groups that are replicas (HSDP)";
constexpr std::string_view kReplicas =
    "--gpus N: every GPU has the whole model and different samples, unless --fsdp or --zero is "
    "given; --parallel dp=N with other axes";
constexpr std::string_view kAdapters =
    "--finetune lora or qlora, with --lora-rank N and --lora-targets NAMES; --freeze 'GLOB' "
    "selects weights that are not trained";
constexpr std::string_view kQuantized =
    "--quantize nf4, nf4-double, int8, gptq-4bit (groups of 128; also -32, -64, -row) or fp8: how "
    "frozen weights are stored";
constexpr std::string_view kServing =
    "--mode serve: inference with a cache of keys and values; --batch N sequences of --dim "
    "sequence=N positions";
constexpr std::string_view kBatch = "--batch N: samples per GPU and step";
constexpr std::string_view kSequence = "--dim sequence=N; 'plimsoll models NAME' lists dimensions";
constexpr std::string_view kImage = "--image N: height and width of images";

constexpr OtherWords kRows[] = {
    {{"--fsdp2", "--zero-stage", "--zero3", "--deepspeed", "--sharding", "--sharding-strategy",
      "--deepspeed-stage", "--zero-optimization"},
     kSharded},
    {{"--tensor-parallel", "--pipeline-parallel", "--tensor-parallel-size",
      "--pipeline-parallel-size", "--context-parallel", "--expert-parallel"},
     kSplit},
    {{"--hsdp", "--hybrid-shard", "--dp-replicate", "--data-parallel-replicate-degree"}, kHybrid},
    {{"--ddp", "--dp", "--data-parallel", "--data-parallel-size"}, kReplicas},
    {{"--cpu-offload", "--offload-optimizer", "--offload-params", "--activation-offloading"},
     "--offload states, parameters or activations"},
    {{"--lora", "--lora-r", "--qlora", "--peft", "--adapter", "--dora", "--use-lora",
      "--finetuning-type"},
     kAdapters},
    {{"--quantization", "--load-in-4bit", "--load-in-8bit", "--nf4", "--int8", "--int4"},
     kQuantized},
    {{"--kv-cache", "--max-model-len", "--kv-cache-dtype", "--concurrency", "--prompt-length"},
     kServing},
    {.flags = {"--users", "--requests", "--sequences", "--num-seqs", "--max-num-seqs"},
     .help = kServing,
     .in_plans = false},
    {.flags = {"--context-length"}, .help = kServing, .setting = "sequence"},
    {.flags = {"-b", "--bs", "--batch-size", "--batch_size", "--micro-batch", "--micro-batch-size",
               "--per-device-train-batch-size", "--per_device_train_batch_size"},
     .help = kBatch,
     .setting = "batch"},
    {.flags = {"--train-batch-size", "--batchsize", "--per-device-batch-size", "--local-batch-size",
               "--train-micro-batch-size-per-gpu"},
     .help = kBatch,
     .setting = "batch"},
    {.flags = {"--seq-len", "--seq-length", "--seqlen", "--seq", "--sequence-length",
               "--max-length", "--max-seq-length", "--block-size"},
     .help = kSequence,
     .setting = "sequence"},
    {.flags = {"--max-seq-len", "--sequence-len", "--cutoff-len", "--model-max-length", "--ctx",
               "--context-len", "--n-ctx"},
     .help = kSequence,
     .setting = "sequence"},
    {.flags = {"--img-size", "--image-size", "--imgsz", "--input-size"},
     .help = kImage,
     .setting = "image"},
    {.flags = {"--resolution", "--height", "--width"}, .help = kImage, .in_plans = false},
    {.flags = {"--gradient-accumulation-steps", "--accumulation", "--grad-accum", "--accum-iter",
               "--gradient-accumulation", "--accumulate-grad-batches", "--grad-accum-steps"},
     .help = "--accumulate N: gradients of N passes for each update",
     .setting = "accumulate"},
    {.flags = {"--optim", "--optimizer-name", "--optimizer-type"},
     .help = "--optimizer NAME",
     .setting = "optimizer"},
    {{"--gradient-checkpointing", "--activation-checkpointing", "--recompute", "--grad-checkpoint"},
     "--checkpoint blocks, or a module's path"},
    {{"--torch-compile", "--compiled"}, "--compile"},
    {{"--dtype", "--amp", "--bf16", "--fp16", "--half", "--mixed-precision", "--torch-dtype"},
     "--precision amp-bf16, amp-fp16, bf16, fp16, tf32 or fp32"},
    {.flags = {"--ngpus", "--num-gpus", "--n-gpus", "--nproc-per-node", "--world-size", "--devices",
               "--num-processes", "--num-devices"},
     .help = "--gpus N, and --nodes N for several machines",
     .setting = "gpus"},
    {.flags = {"--num-nodes", "--nnodes", "--n-nodes", "--num-machines", "--machines"},
     .help = "--nodes N, each with --gpus N",
     .setting = "nodes"},
    {.flags = {"--attn-implementation", "--attention-implementation", "--use-flash-attention",
               "--flash-attn"},
     .help = "--attention flash, sdpa or eager"},
    {.flags = {"--memory", "--vram", "--gpu-memory", "--max-memory"},
     .help = "--mem SIZE, such as 10GiB: capacity instead of the GPU's",
     .in_plans = false},
    {.flags = {"--sequence"}, .help = kSequence, .in_plans = false},
    {.flags = {"--lr", "--learning-rate", "--warmup-steps", "--scheduler", "--lr-scheduler"},
     .help = "it changes neither memory nor time; leave it out",
     .in_plans = false},
    {.flags = {"--model", "--model-name", "--model-name-or-path", "--model-id"},
     .help = "the model is the first argument, without an option: a file, hf:NAME or builtin:NAME",
     .in_plans = false},
    {.flags = {"--device", "--card", "--accelerator", "--gpu-type"},
     .help = "--gpu NAME; 'plimsoll gpus' lists them",
     .in_plans = false},
    {.flags = {"--wide"},
     .help = "--wide is for verbs that print tables; --json has all",
     .in_plans = false},
};

const OtherWords* row_of(std::string_view flag) {
  const auto* const row = std::ranges::find_if(kRows, [&](const OtherWords& one) {
    return !flag.empty() && std::ranges::find(one.flags, flag) != one.flags.end();
  });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

std::string_view help_for_other(std::string_view flag) {
  const OtherWords* const row = row_of(flag);
  return row ? row->help : std::string_view();
}

std::string_view help_for_parameter(std::string_view flag) {
  const OtherWords* const row = row_of(flag);
  return row && row->in_plans ? row->help : std::string_view();
}

std::string_view setting_for_other(std::string_view flag) {
  const OtherWords* const row = row_of(flag);
  return row ? row->setting : std::string_view();
}

}  // namespace plimsoll::cli
