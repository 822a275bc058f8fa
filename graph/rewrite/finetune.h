// add_adapters(): LoRA of a graph that has been inferred and has the types of its precision, and
// frozen weights in fewer bits.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/ir/adapter_names.h"
#include "graph/ir/finetune.h"
#include "graph/ir/graph.h"

namespace plimsoll {

struct FinetuneReport {
  size_t adapters = 0;   // linear layers that have one
  size_t stacked = 0;    // parameters of other modules that have one
  size_t quantized = 0;  // matrices
  // Outputs of the graph that have an adapter: what each was, and what it is now.
  std::vector<std::pair<TensorId, TensorId>> outputs;
};

// All weights become frozen. Each linear layer that `finetune` names gets an adapter as peft's code
// runs it (tuners/lora/layer.py, Linear.forward; tuners/lora/bnb.py of quantized ones): its input
// in fp32, dropout, two products, a factor, the sum in fp32, back to the layer's type. Adapters are
// in fp32 (autocast_adapter_dtype), unless `finetune` has them in their layer's type. Parameters
// that `names` calls after layers of older releases get theirs as ParamWrapper folds them in
// (eager/adapted_weight.h), and no linear layer has these names then
// (utils/transformers_weight_conversion.py). Matrices of linear layers are marked as quantized
// where that is asked for; products with them run in `compute`. E263 where no layer has one of the
// names, E264 where there is none to quantize, E265 where names of one parameter are not all there,
// or are to have dropout.
Result<FinetuneReport> add_adapters(Graph& graph, const Finetune& finetune, DType compute,
                                    const AdapterNames& names = {});

}  // namespace plimsoll
