#include "calibrate/card/cudnn_work.h"
#include "calibrate/card/graph_work.h"
#include "calibrate/cudnn/attention_graph.h"

namespace plimsoll::calibrate {

std::unique_ptr<Work> attention_work(const CudnnHandle& cudnn, const KernelAt& kernel) {
  const auto& problem = std::get<AttentionProblem<int64_t>>(kernel.problem);
  const auto make = [&](const CudnnFunctions& functions, cudnnHandle_t handle) {
    return attention_graph(functions, problem, kernel.pass, kernel.dtype, handle);
  };
  return graph_work(cudnn, make, "cudnn_attention");
}

}  // namespace plimsoll::calibrate
