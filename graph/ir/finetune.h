// How a model is fine-tuned: all of its weights, or adapters beside frozen ones, in the words of
// Hugging Face's peft; and the forms in which libraries store frozen weights.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "graph/base/dtype.h"

namespace plimsoll {

// A form of a frozen matrix: elements of a few bits, with scales of blocks and of groups of blocks.
// A product widens the whole matrix to the model's type first, in either pass.
struct QuantizationRow {
  std::string_view name;   // "nf4"
  int64_t bits = 8;        // of an element
  int64_t block = 0;       // elements that share a scale; 0: those of a row
  int64_t block_bits = 0;  // of a block's scale, and of its zero point where it has one
  int64_t group = 0;       // blocks whose scales share another one; 0: none do
  int64_t group_bits = 0;
  int64_t table_bytes = 0;  // beside each matrix: tables of values and offsets
  // Whether elements are a parameter of their layer's type, which FSDP and stage 3 of ZeRO shard as
  // they do others: bitsandbytes' quant_storage (bitsandbytes/nn/modules.py, Params4bit, since
  // 0.43). Those of other forms are buffers or integers.
  bool is_parameter = false;
  // Whether engines that serve cut matrices between ranks, their scales with them. What
  // bitsandbytes packed beforehand vLLM refuses to cut, but it packs parts as it loads them, as
  // nf4-double (vllm/model_executor/model_loader/bitsandbytes_loader.py).
  bool is_cut = false;
  std::string_view source{};
};

std::span<const QuantizationRow> quantizations();
// Null where no row has the name.
const QuantizationRow* find_quantization(std::string_view name);

enum class FinetuneKind : uint8_t { kFull, kLora, kQlora };

// Which weights that are not quantized are in 32 bits: all, as prepare_model_for_kbit_training() of
// peft makes them; or norms alone, where the rest is put back into 16 bits behind it
// (peft_module_casting_to_bf16() in trainer/utils.py of TRL 0.13, until 0.26).
enum class Prepared : uint8_t { kNone, kAll, kNorms };

// Whose code quantizes. transformers leaves the head as it is. Lightning Fabric replaces each
// linear layer, and quantizes halves of it: bitsandbytes widens to those, and the layer casts them
// (lightning/fabric/plugins/precision/bitsandbytes.py, _Linear4bit.quantize(); bitsandbytes 0.42,
// autograd/_functions.py, MatMul4Bit).
enum class Quantizer : uint8_t { kTransformers, kFabric };

// Whose adapters. litgpt's query, key and value projections are one layer with one adapter, whose
// output is copied to its place among zeros (litgpt/lora.py, LoRAQKVLinear).
enum class AdapterForm : uint8_t { kPeft, kLitgpt };

struct Finetune {
  FinetuneKind kind = FinetuneKind::kFull;
  int64_t rank = 8, alpha = 8;  // peft's LoraConfig
  double dropout = 0;           // of what an adapter reads
  // Names of modules as peft has them, by commas: the last part of a path. "all-linear": every
  // linear layer but the head. Empty: the family's.
  std::string targets{};
  // Of the frozen weights of linear layers, of the head as `quantizer` has it; null: none, or
  // QLoRA's nf4-double.
  const QuantizationRow* quantize = nullptr;
  Prepared prepared = Prepared::kAll;  // of QLoRA alone
  bool adapters_wide = true;  // in 32 bits (peft, autocast_adapter_dtype); else as their layer is
  // Products of quantized weights keep their input, which no gradient reads: MatMul4Bit of
  // bitsandbytes before 0.43.2 (autograd/_functions.py, ctx.tensors).
  bool keeps_inputs = false;
  Quantizer quantizer = Quantizer::kTransformers;
  AdapterForm form = AdapterForm::kPeft;
  bool operator==(const Finetune&) const = default;
};

// Of QLoRA nf4-double, unless another one is asked for.
const QuantizationRow* quantization_of(const Finetune& finetune);

}  // namespace plimsoll
