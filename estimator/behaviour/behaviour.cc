#include "estimator/behaviour/behaviour.h"

#include "estimator/behaviour/time_options.h"

namespace plimsoll {

Behaviour resolve(const Platform& platform, const Request& request) {
  Behaviour behaviour{
      .autograd = autograd_behaviour(platform, request, request.recipe),
      .library = library_behaviour(platform.framework, request, request.recipe.precision->tf32),
      .allocator = allocator_behaviour(platform.framework, platform.device),
      .process = process_behaviour(platform, request.module_loading),
      .dispatch = dispatch_behaviour(platform)};
  behaviour.library.options =
      time_options(platform, request, request.recipe, behaviour.library.algorithm);
  return behaviour;
}

}  // namespace plimsoll
