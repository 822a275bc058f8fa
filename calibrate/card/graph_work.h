// graph_work: what cuDNN runs of a graph of operations, with each plan that its heuristic lists.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "calibrate/card/cudnn_handle.h"
#include "calibrate/card/work.h"
#include "calibrate/cudnn/operation_graph.h"

namespace plimsoll::calibrate {

using MakeGraph = std::function<OperationGraph(const CudnnFunctions&, cudnnHandle_t)>;

// Plans are called `name` and their engine: "cudnn_attention_5". Throws CardFault, E724 in cuDNN's
// words where it takes no such graph.
std::unique_ptr<Work> graph_work(const CudnnHandle& cudnn, const MakeGraph& make,
                                 std::string_view name);

}  // namespace plimsoll::calibrate
