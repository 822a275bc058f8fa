#include "estimator/model/valid_step.h"

namespace plimsoll {

tl::unexpected<Diagnostics> too_large(const CompiledModel& model, const Binding& binding,
                                      Diagnostics why) {
  const NodeId node = unbindable_node(model.step, binding);
  if (node != kNoNode) why.front().place.node = describe(model.graph, node);
  return tl::make_unexpected(std::move(why));
}

tl::unexpected<Diagnostics> other_decisions(const CompiledModel& model, const Binding& binding) {
  DimEvaluator evaluate(binding);
  for (const Guard& guard : model.step.guards) {
    if (auto value = evaluate(guard.expression); !value)
      return too_large(model, binding, std::move(value.error()));
  }
  return error("E903", "the step was compiled for other decisions than this point needs");
}

Result<BoundStep> bind_where_valid(const CompiledModel& model, const Binding& binding) {
  if (!guards_hold(model.step, binding)) return other_decisions(model, binding);
  auto bound = bind_step(model.step, binding);
  if (!bound) return too_large(model, binding, std::move(bound.error()));
  return bound;
}

}  // namespace plimsoll
