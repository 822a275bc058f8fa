// What a folder of Hugging Face's says beside its config.json: adapters of peft, the type of its
// safetensors files.
#pragma once

#include <optional>
#include <string>

#include "graph/base/diagnostic.h"
#include "graph/base/dtype.h"
#include "graph/base/limits.h"
#include "graph/ir/finetune.h"

namespace plimsoll {

struct AdapterConfig {
  Finetune finetune;
  std::string base;  // the model that it is for, as it says: "Qwen/Qwen3-8B"
};

// Of adapter_config.json: nothing where there is none. E355 for a key that nothing reads, E356 for
// another kind of adapter than LoRA.
Result<std::optional<AdapterConfig>> read_adapter_config(const std::string& folder,
                                                         const Limits& limits);

// The type of most bytes in the first of its safetensors files, by the header alone; undefined
// where there is none that can be read.
DType safetensors_dtype(const std::string& folder, const Limits& limits);

}  // namespace plimsoll
