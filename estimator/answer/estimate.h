// Estimate: the answer, with everything that any view shows. Views compute nothing: what is not
// here is not shown. Bytes and nanoseconds are integers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimator/answer/memory_curve.h"
#include "estimator/answer/peak_tensor.h"
#include "estimator/answer/remedy.h"
#include "estimator/answer/trace.h"
#include "estimator/memory/memory_estimate.h"
#include "estimator/memory/verdict.h"
#include "estimator/model/loaded_model.h"
#include "estimator/time/time_estimate.h"
#include "graph/ir/graph.h"
#include "graph/ir/recipe.h"

namespace plimsoll {

// What one pass of a layer is limited by: of its longest kernel, a library's before others.
struct LayerPass {
  int64_t ns = 0;         // of that kernel; 0 where the pass launches none
  std::string algorithm;  // empty for memory-bound work
  std::string bound_by;
  double fraction_of_peak = 0;  // of the resource it is bound by
};

struct LayerEstimate {
  NodeId id = kNoNode;  // of the graph; none for "(loss)"
  std::string node, op, module, output_shape;
  int64_t parameters = 0;
  int64_t weight_bytes = 0, gradient_bytes = 0, feature_map_bytes = 0, workspace_bytes = 0,
          optimizer_state_bytes = 0;
  int64_t flop_forward = 0, flop_backward = 0, bytes_forward = 0, bytes_backward = 0;
  int64_t forward_ns = 0, backward_ns = 0;
  LayerPass forward, backward_data, backward_weights;
};

// One kept tensor, for --why.
struct KeptTensor {
  NodeId keeper = kNoNode, maker = kNoNode;
  std::string node;  // whose backward needs it
  std::string rule;
  std::string made_by;
  int64_t bytes = 0;
};

// All layers below one part of the module path.
struct ModuleEstimate {
  std::string path;  // "layer1.0"; "(Conv)" for nodes that no module names, by operator
  int64_t depth = 1;
  int64_t layers = 0;
  int64_t parameters = 0, weight_bytes = 0, feature_map_bytes = 0;
  int64_t flop_forward = 0, flop_backward = 0, forward_ns = 0, backward_ns = 0;
};

struct Estimate {
  InputFacts input;
  std::string device_id, device_name;
  // The device is the host itself: memory alone is answered, `time` and what layers and kernels
  // take of it are empty, and so is scratch memory.
  bool on_host = false;
  int64_t device_memory_bytes = 0;  // 0: that of the host, which is not known
  int64_t usable_bytes = 0;         // the device's memory less what is kept free (platform.h)
  // Of the units that the step's products run on, the fastest at the card's highest clock, and of
  // device memory: no kernel takes less than its work at these rates. Nothing: not known.
  std::optional<double> peak_flops, bandwidth_bytes_per_second;
  bool fits = false;  // the point: memory.device_bytes is at most usable_bytes
  // Whether `fits` and the verdict say anything: the memory there is, and all of what is taken.
  // 0 B are a card's when others have taken all of it, and a host's where nobody told its size.
  bool judged() const { return !on_host || (device_memory_bytes > 0 && memory.host_bytes > 0); }
  MemoryEstimate memory;
  TimeEstimate time;
  std::vector<LayerEstimate> layers;
  std::vector<KeptTensor> kept;
  std::vector<std::string> recognised;  // what recover() found
  std::vector<std::string> basis;       // defaults taken and where figures come from
  Diagnostics diagnostics;
  std::optional<Trace> trace;  // where the request asks for it
  // What would help where it does not surely fit: remedies() of estimator/plan makes them.
  std::vector<Remedy> remedies;
  // Where the request asks for detail: of the step in which memory is read, and of `layers`.
  std::vector<MemoryMoment> memory_curve;
  std::vector<PeakTensor> peak_tensors;
  std::vector<ModuleEstimate> modules;
};

}  // namespace plimsoll
