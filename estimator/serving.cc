#include "estimator/serving.h"

#include <algorithm>

#include "estimator/pipeline.h"
#include "estimator/request/find_platform.h"
#include "graph/base/try.h"
#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

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

Result<int64_t> cache_at(const Request& request, const Hwdb& hwdb) {
  auto platform =
      TRY(find_platform(hwdb, request, request.devices.empty() ? "" : request.devices.front()));
  const auto model = TRY(compile(request, platform));
  const auto bound = TRY(bind_step(model.step, model.binding));
  return cache_bytes(model, bound);
}

constexpr const char* kSequence = "sequence";

}  // namespace

Result<Estimate> estimate_serving(Request request, const Hwdb& hwdb) {
  auto all_positions = estimate_stages(request, hwdb);
  if (!all_positions || !all_positions->input.symbols.contains(kSequence)) return all_positions;
  Estimate& prefill = *all_positions;
  const auto all = TRY(cache_at(request, hwdb));
  const int64_t batch = prefill.input.batch;
  request.dims[kSequence] = 1;
  const auto decode = estimate_stages(request, hwdb);
  if (!decode) return decode;
  const auto each = TRY(cache_at(request, hwdb));
  ServeEstimate serve;
  serve.kv_bytes = all;
  serve.kv_bytes_per_token = each / std::max<int64_t>(batch, 1);
  const int64_t left = prefill.usable_bytes - (prefill.memory.device_bytes - all);
  if (serve.kv_bytes_per_token > 0 && left > 0)
    serve.tokens_that_fit = left / serve.kv_bytes_per_token;
  serve.prefill_ns = prefill.time.step_ns;
  serve.decode_ns = decode->time.step_ns;
  if (prefill.bandwidth_bytes_per_second)
    serve.decode_ns +=
        static_cast<int64_t>(1e9 * static_cast<double>(all) / *prefill.bandwidth_bytes_per_second);
  prefill.serve = serve;
  prefill.basis.push_back(
      "serve: transformers' cache with keys and values of every position; the prefill processes "
      "all sequences at once and scores only the last position; a token reads the whole cache");
  return all_positions;
}

}  // namespace plimsoll
