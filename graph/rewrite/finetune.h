// add_adapters(): LoRA of a graph that has been inferred and has the types of its precision, and
// frozen weights in fewer bits.
#pragma once

#include <cstddef>

#include "graph/base/diagnostic.h"
#include "graph/ir/finetune.h"
#include "graph/ir/graph.h"

namespace plimsoll {

struct FinetuneReport {
  size_t adapters = 0;   // linear layers that have one
  size_t quantized = 0;  // matrices
};

// All weights become frozen. Each linear layer that `finetune` names gets an adapter as peft's code
// runs it (tuners/lora/layer.py, Linear.forward; tuners/lora/bnb.py of quantized ones): its input
// in fp32, dropout, two products, a factor, the sum in fp32, back to the layer's type. Adapters are
// in fp32 (autocast_adapter_dtype). Matrices of linear layers are marked as quantized where that
// is asked for; products with them run in `compute`. E263 where no linear layer has one of the names,
// E264 where there is none to quantize.
Result<FinetuneReport> add_adapters(Graph& graph, const Finetune& finetune, DType compute);

}  // namespace plimsoll
