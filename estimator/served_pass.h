// What an engine that serves holds on a card at once: the cache of all sequences, and one pass of
// as many tokens as there can be.
#pragma once

#include <optional>

#include "estimator/model/compiled_model.h"
#include "estimator/request/platform.h"
#include "estimator/settings/engines.h"
#include "estimator/step/bound_step.h"

namespace plimsoll {

// The dimension of positions.
inline constexpr const char* kSequence = "sequence";

// Of the request's engine on the card; nothing where it takes memory as it needs it, or where
// nothing is served.
std::optional<EngineLimits> engine_limits(const Request& request, const Platform& platform);

// The engine's share of the card; what `platform` has where no engine takes a share.
int64_t engine_share(const Request& request, const Platform& platform);

// Bytes of the cache among the step's buffers.
int64_t cache_bytes(const CompiledModel& model, const BoundStep& bound);
// Those of them that are the same for any number of positions: states of linear attention.
int64_t state_bytes(const CompiledModel& model, const BoundStep& bound);

// The model's step over one pass of the most tokens, with the cache of all positions at
// `whole_point`; the step as it is where there is no cache.
// Beside it is room for scores of as many sequences as the engine samples at once
// (vLLM, v1/worker/gpu_worker.py: determine_available_memory()). E903 where the step was compiled
// for other decisions than the pass needs.
Result<BoundStep> bind_pass(const CompiledModel& model, const Binding& whole_point,
                            const EngineLimits& limits);

}  // namespace plimsoll
