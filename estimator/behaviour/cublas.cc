#include "estimator/behaviour/cublas.h"

namespace plimsoll {

CublasWorkspace cublas_workspace(const FrameworkProfile& framework,
                                 const ComputeCapability& capability) {
  constexpr int kHopper = 9;
  const bool wide = capability.major >= kHopper;
  const auto& since = framework.cublas_given_back_since;
  const bool gives_back = since && !(framework.asked < *since) && framework.names_version();
  return {.bytes = (wide ? framework.cublas_workspace_hopper : framework.cublas_workspace).value,
          .stays = !gives_back};
}

}  // namespace plimsoll
