#include "graph/ir/finetune.h"

#include <algorithm>

namespace plimsoll {
namespace {

constexpr QuantizationRow kQuantizations[] = {
    {.name = "nf4",
     .bits = 4,
     .block = 64,
     .block_bits = 32,
     .table_bytes = 16 * 4,
     .is_parameter = true,
     .source = "bitsandbytes/functional.py, quantize_4bit(): blocks of 64 with an fp32 absmax"},
    {.name = "nf4-double",
     .bits = 4,
     .block = 64,
     .block_bits = 8,
     .group = 256,
     .group_bits = 32,
     .table_bytes = 16 * 4 + 256 * 4 + 4,
     .is_parameter = true,
     .is_cut = true,
     .source = "the same with compress_statistics: 8-bit scales of blocks, an fp32 one for 256"},
    {.name = "int8",
     .bits = 8,
     .block_bits = 32,
     .source = "bitsandbytes/functional.py, int8_vectorwise_quant(): an fp32 scale for each row"},
    {.name = "gptq-4bit",
     .bits = 4,
     .block = 128,
     .block_bits = 16 + 4,
     .is_cut = true,
     .source = "GPTQ, arXiv:2210.17323, groups of 128: an fp16 scale and a 4-bit zero point"},
    {.name = "gptq-4bit-32",
     .bits = 4,
     .block = 32,
     .block_bits = 16 + 4,
     .is_cut = true,
     .source = "the same with groups of 32"},
    {.name = "gptq-4bit-64",
     .bits = 4,
     .block = 64,
     .block_bits = 16 + 4,
     .is_cut = true,
     .source = "the same with groups of 64"},
    {.name = "gptq-4bit-row",
     .bits = 4,
     .block_bits = 16 + 4,
     .is_cut = true,
     .source = "the same with one group for each row (group_size -1)"},
    // fms-acceleration sees the arrays of integers as parameters of the model's type, which FSDP
    // shards (fms_acceleration_peft/autogptq_utils.py, PATCH_FOR_FSDP_TRITON_V2, at 876e2ed).
    {.name = "gptq-4bit-fsdp",
     .bits = 4,
     .block = 128,
     .block_bits = 16 + 4,
     .is_parameter = true,
     .is_cut = true,
     .source = "gptq-4bit, whose integers are parameters that FSDP shards (fms-acceleration)"},
    {.name = "gptq-4bit-row-fsdp",
     .bits = 4,
     .block_bits = 16 + 4,
     .is_parameter = true,
     .is_cut = true,
     .source = "gptq-4bit-row, whose integers are parameters that FSDP shards (fms-acceleration)"},
    {.name = "fp8",
     .bits = 8,
     .block_bits = 32,
     .is_cut = true,
     .source = "e4m3 elements with an fp32 scale for each row"},
};

}  // namespace

std::span<const QuantizationRow> quantizations() { return kQuantizations; }

const QuantizationRow* find_quantization(std::string_view name) {
  const auto row = std::ranges::find(kQuantizations, name, &QuantizationRow::name);
  return row == std::end(kQuantizations) ? nullptr : row;
}

const QuantizationRow* quantization_of(const Finetune& finetune) {
  if (finetune.quantize || finetune.kind != FinetuneKind::kQlora) return finetune.quantize;
  return find_quantization("nf4-double");
}

}  // namespace plimsoll
