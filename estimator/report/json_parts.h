// Parts of results' JSON: those that several views write, and those of an estimate that are there
// where the request asks for detail.
#pragma once

#include <span>

#include "estimator/answer/estimate.h"
#include "estimator/answer/memory_part.h"
#include "estimator/answer/metrics.h"
#include "estimator/plan/largest_batch.h"
#include "graph/json/writer.h"

namespace plimsoll {

// [low, high], as every range is written.
void write_range(JsonWriter& out, const Range& range);
// Each role's bytes, without the context.
void write_roles(JsonWriter& out, const BytesByRole& bytes);
void write_memory_curve(JsonWriter& out, std::span<const MemoryMoment> curve,
                        int64_t context_bytes);
void write_memory_parts(JsonWriter& out, std::span<const MemoryPart> parts);
void write_peak_tensors(JsonWriter& out, std::span<const PeakTensor> tensors);
void write_modules(JsonWriter& out, std::span<const ModuleEstimate> modules);
void write_classes(JsonWriter& out, std::span<const ClassShare> classes);
void write_metrics(JsonWriter& out, const Metrics& metrics);
// What the search for the largest batch found, in an estimate's page.
void write_batches(JsonWriter& out, const LargestBatch& largest);

}  // namespace plimsoll
