#include "estimator/serving.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/pipeline.h"
#include "estimator/request/find_platform.h"
#include "estimator/served_pass.h"
#include "estimator/settings/engines.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

// Bytes of the cache, and those of them that do not grow with positions.
struct Cache {
  int64_t all = 0, states = 0;
};

Result<Cache> cache_at(const Request& request, const Hwdb& hwdb) {
  auto platform =
      TRY(find_platform(hwdb, request, request.devices.empty() ? "" : request.devices.front()));
  const auto model = TRY(compile(request, platform));
  const auto bound = TRY(bind_step(model.step, model.binding));
  return Cache{cache_bytes(model, bound), state_bytes(model, bound)};
}

}  // namespace

Result<Estimate> estimate_serving(Request request, const Hwdb& hwdb) {
  auto all_positions = estimate_stages(request, hwdb);
  if (!all_positions || !all_positions->input.symbols.contains(kSequence)) return all_positions;
  Estimate& prefill = *all_positions;
  const auto [all, states] = TRY(cache_at(request, hwdb));
  const int64_t batch = prefill.input.batch;
  request.dims[kSequence] = 1;
  const auto decode = estimate_stages(request, hwdb);
  if (!decode) return decode;
  const auto first = TRY(cache_at(request, hwdb));
  ServeEstimate serve;
  serve.kv_bytes = all;
  serve.kv_bytes_per_token = (first.all - first.states) / std::max<int64_t>(batch, 1);
  const EngineRow* given = request.server.engine;
  const bool shares = given && given->memory_share > 0 && all > 0;
  const EngineRow& engine = shares ? *given : engines().front();
  const int64_t left = prefill.usable_bytes - (prefill.memory.device_bytes - all);
  serve.engine = engine.program;
  serve.block_tokens = engine.block_tokens;
  serve.cache_bytes = std::max<int64_t>(left, 0);
  const int64_t block = serve.kv_bytes_per_token * engine.block_tokens;
  if (block > 0) {
    serve.tokens_that_fit =
        std::max<int64_t>(serve.cache_bytes - states, 0) / block * engine.block_tokens;
  }
  serve.prefill_ns = prefill.time.step_ns;
  serve.decode_ns = decode->time.step_ns;
  if (prefill.bandwidth_bytes_per_second)
    serve.decode_ns +=
        static_cast<int64_t>(1e9 * static_cast<double>(all) / *prefill.bandwidth_bytes_per_second);
  prefill.serve = serve;
  prefill.basis.push_back(
      "serve: transformers' cache with keys and values of every position; the prefill processes "
      "all sequences at once and scores only the last position; a token reads the whole cache");
  if (states > 0)
    prefill.basis.push_back(
        fmt::format("serve: linear attention keeps {} bytes of each sequence, whatever its length",
                    states / std::max<int64_t>(batch, 1)));
  if (shares)
    prefill.basis.push_back(fmt::format(
        "serve: {} reserves a share of GPU memory for the KV cache, a pass of the largest number "
        "of tokens, and the logits of all sequences that are sampled at once; the time is that of "
        "one prefill of all positions; CUDA graphs are not counted: since 0.19 they make the cache "
        "smaller, before they used memory outside the share",
        engine.program));
  return all_positions;
}

}  // namespace plimsoll
