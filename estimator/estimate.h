// Estimate: the answer, with everything that any view shows. Views compute nothing: what is not
// here is not shown. Bytes and nanoseconds are integers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimator/loaded_model.h"
#include "estimator/memory/module_storages.h"
#include "estimator/memory/timeline.h"
#include "estimator/trace.h"
#include "estimator/verdict.h"
#include "graph/graph.h"
#include "graph/recipe.h"
#include "hwdb/context.h"

namespace plimsoll {

struct MemoryEstimate {
  int64_t parameter_count = 0;
  int64_t parameter_bytes = 0, buffer_bytes = 0, gradient_bytes = 0, optimizer_state_bytes = 0;
  int64_t input_bytes = 0;
  int64_t saved_bytes = 0;
  int64_t live_peak_bytes = 0;
  BytesByRole max_by_role{};
  int64_t activations_peak_bytes = 0;  // of feature maps and temporaries together
  Phase peak_phase = Phase::kForward;
  std::string peak_node;  // "layer1.0.conv3" or the node's name; empty between nodes
  BytesByRole peak_by_role{};
  std::optional<ModuleStorages> modules;  // of frameworks whose modules hold them
  int64_t workspace_bytes = 0;
  std::string workspace_basis;  // "rule", "asked", "measured", "none"
  int64_t allocated_peak_bytes = 0, reserved_bytes = 0;
  int64_t steady_allocated_bytes = 0;  // of a later step, in which nothing is tried out
  // Of a first step in which plans are timed with scratch memory that is given back, and that may
  // be less where the card is full; else 0.
  int64_t timing_peak_bytes = 0;
  int64_t context_bytes = 0, device_bytes = 0;
  std::optional<ModuleLoading> module_loading;  // that context_bytes stands for, where it is known
  std::string context_basis;                    // which row, and why; empty where it was given
  Range device_range;
  Verdict verdict = Verdict::kDoesNotFit;  // of device_range
  // Inference in Python: what a name that outlives its use, or ends before it, may add or take at
  // the peak. In device_range.
  int64_t held_by_names = 0;
  // Smallest capacity in which the step still runs, at most device_bytes; where the request asks.
  std::optional<int64_t> minimum_bytes;
  int64_t taken_bytes = 0;  // by a framework that takes the card whatever it needs; else 0
  int64_t host_bytes = 0;   // of the process and those that load its batches
  bool host_asked = false;  // the request says how data are loaded
  Range host_range;
};

struct KernelShare {
  std::string kernel;  // "conv forward 64x56x56 -> 64, 3x3"
  std::string algorithm;
  int64_t count = 0;
  int64_t total_ns = 0;
  double share = 0;  // of the step's GPU time
  double fraction_of_peak = 0;
  std::string bound_by;        // "compute", "dram", "latency", "host"
  double flop = 0, bytes = 0;  // of one launch, by its algorithm
  double flop_per_byte = 0;    // where it lies in the roofline's plane: along, and up
  double flop_per_second = 0;
};

// The step of batches of one length, for --lengths.
struct LengthTime {
  Binding sizes;
  double share = 0;  // of all batches
  int64_t step_ns = 0;
};

struct TimeEstimate {
  int64_t step_ns = 0, forward_ns = 0, backward_ns = 0, update_ns = 0;
  int64_t communication_ns = 0, input_copy_ns = 0;
  // What the step is made of: device work, dispatch by the host, the framework's own terms, what of
  // loading the next batch it waits for.
  int64_t gpu_ns = 0, host_ns = 0, framework_ns = 0, loader_ns = 0;
  std::string host_id;
  double single_thread = 1;  // of the host, a Skylake-SP's at 3.7 GHz being 1
  std::string loader;        // "none": it is not in the figure
  int64_t roofline_ns = 0;   // of its kernels by datasheet figures alone: what a guess would say
  Range step_range_ns;
  double gpu_busy = 0, fp32_utilisation = 0, cpu_utilisation = 0;
  int64_t pcie_bytes = 0;
  bool host_bound = false;   // launches, framework and loader take longer than the device's work
  bool input_bound = false;  // loader and copy take longer than all else
  int64_t launches = 0, parameter_arrays = 0;
  // Of operators by the host, one by one; some launch several kernels.
  int64_t dispatches = 0, forward_dispatches = 0;
  double samples_per_second = 0;  // of all devices together
  std::string sample_unit = "samples";
  std::optional<int64_t> run_ns;  // of --epochs and --samples
  std::string provenance;         // "uncalibrated", "calibrated: ..."
  std::string evidence;           // what most of it was measured on, see Evidence: "card", ...
  std::vector<LengthTime> lengths;
  std::vector<KernelShare> kernels;
};

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

struct Estimate {
  InputFacts input;
  std::string device_id, device_name;
  int64_t device_memory_bytes = 0;
  int64_t usable_bytes = 0;  // the device's memory less the user's reserve
  // Of the units that the step's products run on, the fastest at the card's highest clock, and of
  // device memory: no kernel takes less than its work at these rates. Nothing: not known.
  std::optional<double> peak_flops, bandwidth_bytes_per_second;
  bool fits = false;  // the point: memory.device_bytes is at most usable_bytes
  MemoryEstimate memory;
  TimeEstimate time;
  std::vector<LayerEstimate> layers;
  std::vector<KeptTensor> kept;
  std::vector<std::string> recognised;  // what recover() found
  std::vector<std::string> basis;       // defaults taken and where figures come from
  Diagnostics diagnostics;
  std::optional<Trace> trace;  // where the request asks for it
};

}  // namespace plimsoll
