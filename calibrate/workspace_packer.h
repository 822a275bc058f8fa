// workspace_packer: cuDNN's answers about many layers, packed into a table of hwdb/workspaces.
//
// Form, little endian: "PLW1", u32 layers, u8 batches, u8 plans, u16 0; the batches (u32 each); the
// plans; then columns over (layer, batch, pass), the pass fastest: code of the first plan without
// tensor cores, code of the first with, largest scratch; then the exceptions. A plan is u8 engine,
// i8 tile, u8 tensor, u8 parts, i32 extra. Its bytes follow from the engine's formula (tensor 0),
// or are extra and the copies in `parts` (1: x, 2: y, 4: w, channels padded). Code 255: no such
// plan; 254: an exception, in order of the index: u8 engine, u40 bytes, kept as columns of bytes;
// those of the first column come first. The code of a tensor plan that is preferred to the plain
// one is in [0, 126], else 127 higher; 253 stands for an exception that is preferred. Largest
// scratch: 0, or 1 + ceil(4 log2(bytes)). estimator/library/workspace/table.cc reads it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "estimator/library/workspace/asked.h"
#include "estimator/library/workspace/table.h"

namespace plimsoll {

// The batches that every table has.
inline constexpr int64_t kTableBatches[] = {1, 4, 8, 16, 32, 64, 128, 256};

// The questions of a table, in its order: layer, batch, pass.
std::vector<ConvQuestion> table_questions(const LayerList& layers, DType dtype, bool channels_last);

// `answers[i]` are the plans listed for `questions[i]`, none where the heuristic had nothing to
// say. What no framework takes (operands rounded to half precision) is left out.
std::string pack_workspaces(const std::vector<ConvQuestion>& questions,
                            const std::vector<std::vector<AskedPlan>>& answers);

}  // namespace plimsoll
