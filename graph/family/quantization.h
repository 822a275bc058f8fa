// A config's "quantization_config": how its checkpoint stores the matrices of linear layers.
#pragma once

#include <string_view>

#include "graph/base/diagnostic.h"
#include "graph/ir/finetune.h"
#include "graph/json/value.h"

namespace plimsoll {

// Null where the config says nothing of it. MXFP4 is taken as transformers widens it where it has
// no kernels for it, or trains: null, with W238. E356 for a method, or a number of bits, that no
// row of quantizations() stands for.
// Sources: transformers 5.24, utils/quantization_config.py (keys and defaults of each method);
// compressed-tensors, quantization/quant_args.py ("config_groups").
Result<const QuantizationRow*> checkpoint_quantization(const JsonValue& config,
                                                       std::string_view file,
                                                       Diagnostics& warnings);

}  // namespace plimsoll
