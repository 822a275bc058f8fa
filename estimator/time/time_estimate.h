// What a step takes of time, with everything that a view shows of it. Nanoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimator/time/class_share.h"
#include "graph/base/range.h"
#include "graph/symbol/dim.h"

namespace plimsoll {

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
  int64_t loading_ns = 0;  // of all threads and processes that load, waited for or not
  std::string host_id;
  int64_t host_cores = 0;    // 0: not known
  double single_thread = 1;  // of the host, a Skylake-SP's at 3.7 GHz being 1
  std::string loader;        // "none": it is not in the figure
  int64_t roofline_ns = 0;   // of its kernels by datasheet figures alone: what a guess would say
  Range step_range_ns;
  double gpu_busy = 0, fp32_utilisation = 0, cpu_utilisation = 0;
  int64_t pcie_bytes = 0;
  // Over the slot of one GPU in a step; nothing: not known.
  std::optional<int64_t> to_device_bytes, from_device_bytes;
  bool host_bound = false;   // launches, framework and loader take longer than the device's work
  bool input_bound = false;  // loader and copy take longer than all else
  int64_t launches = 0, parameter_arrays = 0;
  // Of operators by the host, one by one; some launch several kernels.
  int64_t dispatches = 0, forward_dispatches = 0;
  double samples_per_second = 0;  // of all devices together
  std::string sample_unit = "samples";
  // Once through the samples that the request or the model's config tells, and --epochs times.
  std::optional<int64_t> epoch_ns, run_ns;
  std::string provenance;  // "uncalibrated", "calibrated: ..."
  std::string evidence;    // what most of it was measured on, see Evidence: "card", ...
  std::vector<LengthTime> lengths;
  std::vector<KernelShare> kernels;
  std::vector<ClassShare> by_class;  // most time first
};

}  // namespace plimsoll
