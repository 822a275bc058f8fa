#include "estimator/bound_step.h"

#include <algorithm>

namespace plimsoll {

Result<BoundStep> bind(const Step& step, const Binding& binding) {
  BoundStep bound;
  DimEvaluator evaluate(binding);
  bound.buffer_bytes.reserve(step.buffers.size());
  for (const Buffer& b : step.buffers) {
    auto bytes = evaluate(b.bytes);
    if (!bytes) return tl::make_unexpected(bytes.error());
    bound.buffer_bytes.push_back(std::max<int64_t>(*bytes, 0));
  }
  bound.kernels.reserve(step.kernels.size());
  for (const Kernel& k : step.kernels) {
    auto kernel = bind(k, binding);
    if (!kernel) return tl::make_unexpected(kernel.error());
    bound.kernels.push_back(std::move(*kernel));
  }
  return bound;
}

bool guards_hold(const Step& step, const Binding& binding) {
  DimEvaluator evaluate(binding);
  return std::all_of(step.guards.begin(), step.guards.end(), [&](const Guard& g) {
    const auto value = evaluate(g.expression);
    if (!value) return false;
    const bool holds = g.kind == Guard::Kind::kZero ? *value == 0 : *value >= 0;
    return holds == g.holds;
  });
}

}  // namespace plimsoll
