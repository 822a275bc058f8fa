#include "estimator/settings/engines.h"

namespace plimsoll {
namespace {

constexpr EngineRow kEngines[] = {
    {.name = "transformers",
     .program = "transformers",
     .source = "transformers 5.24, cache_utils.py: DynamicCache"},
    {.name = "vllm",
     .program = "vLLM",
     .memory_share = 0.92,
     .block_tokens = 16,
     .large = {.tokens = 8192, .sequences = 1024},
     .others = {.tokens = 2048, .sequences = 256},
     .large_bytes = int64_t{70} << 30,
     .never_large = "a100",
     .source = "vLLM: config/cache.py (gpu_memory_utilization, DEFAULT_BLOCK_SIZE), "
               "engine/arg_utils.py (get_batch_defaults() of the API server), "
               "v1/worker/gpu_worker.py (determine_available_memory(), where "
               "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS has graphs in the share)"},
};

}  // namespace

std::span<const EngineRow> engines() { return kEngines; }

EngineLimits limits_on(const EngineRow& engine, const Device& device, int64_t memory_bytes) {
  const bool large =
      memory_bytes >= engine.large_bytes && device.id.find(engine.never_large) == std::string::npos;
  return large ? engine.large : engine.others;
}

}  // namespace plimsoll
