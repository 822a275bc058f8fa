#include "estimator/behaviour/process.h"

namespace plimsoll {

HostProcess host_process(const FrameworkProfile& framework) {
  return {.base = framework.host_base.value,
          .worker = framework.host_worker.value,
          .base_range = {framework.host_base_low.value, framework.host_base_high.value},
          .worker_range = {framework.host_worker_low.value, framework.host_worker_high.value},
          .batches_per_worker = framework.batches_per_worker,
          .dataset_copies = framework.host_dataset_copies};
}

ProcessBehaviour process_behaviour(const Platform& platform, std::optional<ModuleLoading> loading) {
  const FrameworkProfile& framework = platform.framework;
  const ContextChoice context =
      choose_context(framework.context, {.device = platform.device.id,
                                         .architecture = platform.device.architecture,
                                         .cuda = platform.cuda,
                                         .asked = loading,
                                         .usual = framework.usual_loading(platform.cuda)});
  return {.context = *context.row,
          .loading = context.loading,
          .context_basis = context.why,
          .collective_buffers = framework.collective_buffers,
          .host = host_process(framework)};
}

}  // namespace plimsoll
