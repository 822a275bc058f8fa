// plan_list: the execution plans that cuDNN's heuristic lists for a graph of operations, on a GPU
// that is described or on one that is there.
#pragma once

#include <string>
#include <vector>

#include "calibrate/cudnn/backend.h"
#include "calibrate/cudnn/operation_graph.h"
#include "estimator/library/workspace/asked.h"
#include "estimator/library/workspace/conv_question.h"

namespace plimsoll {

// One of the two.
struct CudnnTarget {
  const Descriptor* device = nullptr;  // a description: CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR
  cudnnHandle_t handle = nullptr;
};

struct ListedPlan {
  AskedPlan plan;
  Descriptor descriptor;  // finalized: with a handle it can be executed
};

struct PlanList {
  std::string mode;  // of the heuristic: "instant", or where that has none "fallback"
  std::vector<ListedPlan> plans;
  std::string error;  // cuDNN's word where it takes no such problem
};

// In cuDNN's order; those that it refuses itself are left out.
PlanList list_plans(const CudnnFunctions& cudnn, const ConvQuestion& question,
                    const CudnnTarget& target);
// The same of any graph, which outlives its plans. Throws CudnnRefusal.
PlanList list_plans(const CudnnFunctions& cudnn, const Descriptor& graph,
                    const CudnnTarget& target);
// Of an operation graph, with the scratch memory that it brings in each plan's bytes.
PlanList list_plans(const CudnnFunctions& cudnn, const OperationGraph& graph,
                    const CudnnTarget& target);

}  // namespace plimsoll
