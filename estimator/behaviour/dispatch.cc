#include "estimator/behaviour/dispatch.h"

namespace plimsoll {

DispatchBehaviour dispatch_behaviour(const Platform& platform) {
  const FrameworkProfile& framework = platform.framework;
  const Dispatch* costs = platform.host.find(framework.framework, framework.asked);
  return {.framework = framework.framework,
          .costs = costs ? std::optional(*costs) : std::nullopt,
          .adds_bias = !framework.bias_is_operator,
          .copies_during_update = framework.copies_beside_update,
          .pageable_input = framework.input_path == FrameworkProfile::InputPath::kPageable};
}

}  // namespace plimsoll
