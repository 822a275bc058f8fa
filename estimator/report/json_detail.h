// The parts of an estimate's JSON that are there where the request asks for detail.
#pragma once

#include <span>

#include "estimator/answer/estimate.h"
#include "estimator/answer/memory_part.h"
#include "graph/json/writer.h"

namespace plimsoll {

// Each role's bytes, without the context.
void write_roles(JsonWriter& out, const BytesByRole& bytes);
void write_memory_curve(JsonWriter& out, std::span<const MemoryMoment> curve);
void write_memory_parts(JsonWriter& out, std::span<const MemoryPart> parts);
void write_peak_tensors(JsonWriter& out, std::span<const PeakTensor> tensors);
void write_modules(JsonWriter& out, std::span<const ModuleEstimate> modules);

}  // namespace plimsoll
