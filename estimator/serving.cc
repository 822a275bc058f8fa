#include "estimator/serving.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/pipeline.h"
#include "estimator/request/find_platform.h"
#include "estimator/settings/engines.h"
#include "graph/base/try.h"
#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

constexpr const char* kSequence = "sequence";

// Of the cache in the step's buffers.
int64_t cache_bytes(const CompiledModel& model, const BoundStep& bound) {
  int64_t sum = 0;
  for (size_t id = 0; id < model.step.buffers.size(); ++id) {
    const Buffer& buffer = model.step.buffers[id];
    const bool attends =
        buffer.node != kNoNode && has(model.graph.nodes[buffer.node], OpRow::kAttends);
    if (buffer.resident && buffer.role == Role::kBuffer && attends) sum += bound.buffer_bytes[id];
  }
  return sum;
}

struct Cache {
  int64_t bytes = 0;
  int64_t score_bytes = 0;  // of one position, in the type that the last layer gives and in 32 bits
};

int64_t score_bytes(const CompiledModel& model) {
  const Tensor& scores = model.graph.tensors[model.graph.outputs.front()];
  if (!scores.shape || scores.shape->empty()) return 0;
  const int64_t classes = scores.shape->back().constant().value_or(0);
  return classes * (bits(model.recipe.precision->storage) + 32) / 8;
}

Result<Cache> cache_at(const Request& request, const Hwdb& hwdb) {
  auto platform =
      TRY(find_platform(hwdb, request, request.devices.empty() ? "" : request.devices.front()));
  const auto model = TRY(compile(request, platform));
  const auto bound = TRY(bind_step(model.step, model.binding));
  return Cache{.bytes = cache_bytes(model, bound), .score_bytes = score_bytes(model)};
}

// What the engine has for its cache: of its share what a pass of as many tokens as there can be
// leaves, after which as many sequences are sampled as there can be
// (vLLM, v1/worker/gpu_worker.py: determine_available_memory()).
Result<int64_t> engine_cache(Request request, const Hwdb& hwdb, int64_t sequence) {
  const EngineRow& engine = *request.server.engine;
  const auto platform = TRY(find_platform(hwdb, request, request.devices.front()));
  EngineLimits limits = limits_on(engine, platform.device, platform.memory_bytes);
  limits.tokens = request.server.pass_tokens.value_or(limits.tokens);
  request.dims[kSequence] = std::min(sequence, limits.tokens);
  request.batch = std::max<int64_t>(1, limits.tokens / std::max<int64_t>(1, sequence));
  const auto pass = TRY(estimate_stages(request, hwdb));
  const auto cache = TRY(cache_at(request, hwdb));
  const double share = request.server.memory_share.value_or(engine.memory_share);
  const auto share_bytes = static_cast<int64_t>(share * static_cast<double>(platform.memory_bytes));
  const int64_t rows = std::min(limits.sequences, limits.tokens);
  return share_bytes - (pass.memory.device_bytes - cache.bytes) - rows * cache.score_bytes;
}

}  // namespace

Result<Estimate> estimate_serving(Request request, const Hwdb& hwdb) {
  auto all_positions = estimate_stages(request, hwdb);
  if (!all_positions || !all_positions->input.symbols.contains(kSequence)) return all_positions;
  Estimate& prefill = *all_positions;
  const auto all = TRY(cache_at(request, hwdb));
  const int64_t batch = prefill.input.batch, sequence = prefill.input.symbols.at(kSequence);
  const Request original = request;
  request.dims[kSequence] = 1;
  const auto decode = estimate_stages(request, hwdb);
  if (!decode) return decode;
  const auto each = TRY(cache_at(request, hwdb));
  ServeEstimate serve;
  serve.kv_bytes = all.bytes;
  serve.kv_bytes_per_token = each.bytes / std::max<int64_t>(batch, 1);
  const bool shares =
      original.server.engine && original.server.engine->memory_share > 0 && all.bytes > 0;
  const EngineRow& engine = shares ? *original.server.engine : engines().front();
  int64_t left = prefill.usable_bytes - (prefill.memory.device_bytes - all.bytes);
  if (shares) left = TRY(engine_cache(original, hwdb, sequence));
  serve.engine = engine.program;
  serve.block_tokens = engine.block_tokens;
  serve.cache_bytes = std::max<int64_t>(left, 0);
  const int64_t block = serve.kv_bytes_per_token * engine.block_tokens;
  if (block > 0) serve.tokens_that_fit = serve.cache_bytes / block * engine.block_tokens;
  serve.prefill_ns = prefill.time.step_ns;
  serve.decode_ns = decode->time.step_ns;
  if (prefill.bandwidth_bytes_per_second)
    serve.decode_ns += static_cast<int64_t>(1e9 * static_cast<double>(all.bytes) /
                                            *prefill.bandwidth_bytes_per_second);
  prefill.serve = serve;
  prefill.basis.push_back(
      "serve: transformers' cache with keys and values of every position; the prefill processes "
      "all sequences at once and scores only the last position; a token reads the whole cache");
  if (shares)
    prefill.basis.push_back(fmt::format(
        "serve: {} takes its share of the card and keeps what a pass of its most "
        "tokens leaves; the verdict is of transformers' prefill; its CUDA graphs are not "
        "counted: it captures some to measure them, and since 0.19 the cache is smaller "
        "by that; before, they were outside of the share",
        engine.program));
  return all_positions;
}

}  // namespace plimsoll
