#include "graph/ir/precision.h"

#include <algorithm>

#include "graph/base/text.h"

namespace plimsoll {
namespace {

// PyTorch's: torch.autocast and torch.amp.GradScaler; torch.backends.cuda.matmul.allow_tf32 and
// torch.backends.cudnn.allow_tf32; model.half(), model.to(torch.bfloat16), model.double().
constexpr PrecisionRow kPrecisions[] = {
    {.name = "fp32", .also = "float32"},
    {.name = "tf32", .tf32 = true, .source = "torch.backends.*.allow_tf32"},
    {.name = "amp-fp16",
     .autocast = DType::kFloat16,
     .loss_scaler = true,
     .also = "amp fp16_mixed fp16-mixed fp16-amp 16-mixed mixed",
     .source = "torch.autocast(\"cuda\", torch.float16) with torch.amp.GradScaler"},
    {.name = "amp-bf16",
     .autocast = DType::kBFloat16,
     .also = "bf16-mixed bf16-amp bf16_mixed amp-bfloat16",
     .source = "torch.autocast(\"cuda\", torch.bfloat16)"},
    {.name = "fp16", .storage = DType::kFloat16, .also = "float16 half", .source = "model.half()"},
    {.name = "bf16",
     .storage = DType::kBFloat16,
     .also = "bfloat16",
     .source = "model.to(torch.bfloat16)"},
    {.name = "autocast-fp16",
     .storage = DType::kFloat16,
     .autocast = DType::kFloat16,
     .loss_scaler = true,
     .source = "torch.autocast(\"cuda\", torch.float16) of model.half(), as "
               "transformers' TrainingArguments(fp16=True) has it of torch_dtype float16"},
    {.name = "autocast-bf16",
     .storage = DType::kBFloat16,
     .autocast = DType::kBFloat16,
     .source = "torch.autocast(\"cuda\", torch.bfloat16) of model.to(torch.bfloat16), as "
               "transformers' TrainingArguments(bf16=True) has it of torch_dtype bfloat16"},
    {.name = "apex-o2",
     .storage = DType::kFloat16,
     .master = DType::kFloat32,
     .master_gradients = true,
     .batch_norms_in_fp32 = true,
     .loss_scaler = true,
     .source = "apex/amp of NVIDIA/apex: amp.initialize(model, optimizer, opt_level=\"O2\")"},
    {.name = "mixed-bf16",
     .storage = DType::kBFloat16,
     .master = DType::kFloat32,
     .source = "torch.distributed.fsdp: MixedPrecisionPolicy(param_dtype=torch.bfloat16, "
               "reduce_dtype=torch.float32)"},
    {.name = "mixed-fp16",
     .storage = DType::kFloat16,
     .master = DType::kFloat32,
     .loss_scaler = true,
     .source = "torch.distributed.fsdp: MixedPrecisionPolicy(param_dtype=torch.float16, "
               "reduce_dtype=torch.float32)"},
    {.name = "mixed-fp8",
     .storage = DType::kBFloat16,
     .products = DType::kFloat8E4M3,
     .master = DType::kFloat32,
     .source = "torchao/float8 of pytorch/ao: convert_to_float8_training under "
               "MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)"},
    {.name = "mixed-amp-bf16",
     .storage = DType::kBFloat16,
     .autocast = DType::kBFloat16,
     .master = DType::kFloat32,
     .source = "torch.autocast(\"cuda\", torch.bfloat16) under "
               "MixedPrecisionPolicy(param_dtype=torch.bfloat16), as "
               "accelerate has it (utils/dataclasses.py, set_mixed_precision())"},
    {.name = "mixed-amp-fp16",
     .storage = DType::kFloat16,
     .autocast = DType::kFloat16,
     .master = DType::kFloat32,
     .loss_scaler = true,
     .source = "the same in torch.float16, with ShardedGradScaler"},
    {.name = "fp8",
     .storage = DType::kBFloat16,
     .products = DType::kFloat8E4M3,
     .source =
         "torchao/float8 of pytorch/ao: convert_to_float8_training(model.to(torch.bfloat16))"},
    {.name = "fp64",
     .storage = DType::kFloat64,
     .also = "float64 double",
     .source = "model.double()"},
};

// Letters of the longest of these words that the text begins with.
size_t begun_with(std::string_view text, std::string_view words) {
  size_t longest = 0;
  while (!words.empty()) {
    const std::string_view word = take_part(words, ' ');
    if (text.starts_with(word)) longest = std::max(longest, word.size());
  }
  return longest;
}

}  // namespace

std::span<const PrecisionRow> precisions() { return kPrecisions; }

const PrecisionRow* find_precision(std::string_view name) {
  const auto row = std::ranges::find(kPrecisions, name, &PrecisionRow::name);
  return row == std::end(kPrecisions) ? nullptr : row;
}

const PrecisionRow* spoken_precision(std::string_view text) {
  const PrecisionRow* found = nullptr;
  size_t most = 0;
  for (const PrecisionRow& row : kPrecisions) {
    const size_t letters = std::max(begun_with(text, row.name), begun_with(text, row.also));
    if (letters <= most) continue;
    most = letters;
    found = &row;
  }
  return found;
}

DType product_type(const PrecisionRow& row) {
  return row.products.value_or(row.autocast.value_or(row.storage));
}

bool is_half(const PrecisionRow& row) { return bits(product_type(row)) <= 16; }

}  // namespace plimsoll
