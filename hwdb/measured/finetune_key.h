// "finetune" of measured records, which sources write as an object: {"method": "lora", "rank": 16,
// "targets": ["q_proj"], "quant": "nf4"}; ours is a word beside keys of its own.
#pragma once

#include "graph/json/value.h"
#include "hwdb/measured/run.h"

namespace plimsoll {

// Into finetune, lora_rank, lora_targets and quantize of the run, where it says nothing of them.
void take_finetune(const JsonValue& object, MeasuredRun& run);

}  // namespace plimsoll
