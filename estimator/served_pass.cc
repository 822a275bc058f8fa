#include "estimator/served_pass.h"

#include <algorithm>
#include <utility>

#include "estimator/model/valid_step.h"
#include "graph/base/try.h"
#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

// What an operator with one of these traits keeps from pass to pass.
bool is_kept_by(uint32_t traits, const CompiledModel& model, const Buffer& buffer) {
  return buffer.resident && buffer.role == Role::kBuffer && buffer.node != kNoNode &&
         has_any(model.graph.nodes[buffer.node], traits);
}

bool is_cache(const CompiledModel& model, const Buffer& buffer) {
  return is_kept_by(OpRow::kAttends | OpRow::kOverTime, model, buffer);
}

// Of one sequence's last position: in the type that the last layer gives, and in 32 bits.
int64_t score_bytes(const CompiledModel& model) {
  const Tensor& scores = model.graph.tensors[model.graph.outputs.front()];
  if (!scores.shape || scores.shape->empty()) return 0;
  const int64_t classes = scores.shape->back().constant().value_or(0);
  return classes * (bits(model.recipe.precision->storage) + 32) / 8;
}

// The engine knows tokens, whosever they are; one sequence, or one position, remains one, since
// sizes of one are computed in other ways.
Binding pass_of(const CompiledModel& model, Binding at, const EngineLimits& limits) {
  constexpr int64_t kSeveral = 2;
  int64_t& length = at[kSequence];
  int64_t sequences = 1;
  if (batch_at(model, at) > 1) sequences = std::max(kSeveral, limits.tokens / length);
  if (length > 1) length = std::max(kSeveral, limits.tokens / sequences);
  if (!model.batch_symbol.empty()) at[model.batch_symbol] = sequences;
  return at;
}

}  // namespace

std::optional<EngineLimits> engine_limits(const Request& request, const Platform& platform) {
  const EngineRow* engine = request.server.engine;
  if (!request.recipe.serve || !engine || engine->memory_share <= 0) return std::nullopt;
  EngineLimits limits = limits_on(*engine, platform.device, platform.memory_bytes);
  limits.tokens = request.server.pass_tokens.value_or(limits.tokens);
  return limits;
}

int64_t engine_share(const Request& request, const Platform& platform) {
  if (!engine_limits(request, platform)) return platform.usable_bytes;
  const double share = request.server.memory_share.value_or(request.server.engine->memory_share);
  return std::min(platform.usable_bytes,
                  static_cast<int64_t>(share * static_cast<double>(platform.memory_bytes)));
}

int64_t cache_bytes(const CompiledModel& model, const BoundStep& bound) {
  int64_t sum = 0;
  for (BufferId id = 0; id < model.step.buffers.size(); ++id) {
    if (is_cache(model, model.step.buffers[id])) sum += bound.buffer_bytes[id];
  }
  return sum;
}

int64_t state_bytes(const CompiledModel& model, const BoundStep& bound) {
  int64_t sum = 0;
  for (BufferId id = 0; id < model.step.buffers.size(); ++id) {
    if (is_kept_by(OpRow::kOverTime, model, model.step.buffers[id])) sum += bound.buffer_bytes[id];
  }
  return sum;
}

Result<BoundStep> bind_pass(const CompiledModel& model, const Binding& whole_point,
                            const EngineLimits& limits) {
  const auto whole = bind_step(model.step, whole_point);
  if (!whole) return too_large(model, whole_point, whole.error());
  if (!whole_point.contains(kSequence) || cache_bytes(model, *whole) == 0)
    return bind_where_valid(model, whole_point);
  auto pass = TRY(bind_where_valid(model, pass_of(model, whole_point, limits)));
  int64_t scores = std::min(limits.sequences, limits.tokens) * score_bytes(model);
  for (BufferId id = 0; id < model.step.buffers.size(); ++id) {
    if (!is_cache(model, model.step.buffers[id])) continue;
    pass.buffer_bytes[id] = whole->buffer_bytes[id] + std::exchange(scores, 0);
  }
  return pass;
}

}  // namespace plimsoll
