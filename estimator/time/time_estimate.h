// What a step takes of time, with everything that a view shows of it. Nanoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimator/kernels/bound_by.h"
#include "estimator/time/class_share.h"
#include "estimator/time/step_lanes.h"
#include "graph/base/range.h"
#include "graph/json/fields.h"
#include "graph/symbol/dim.h"
#include "hwdb/host.h"

namespace plimsoll {

struct KernelShare {
  std::string kernel;  // "conv forward 64x56x56 -> 64, 3x3"
  std::string algorithm;
  int64_t count = 0;
  int64_t total_ns = 0;
  double share = 0;  // of the step's GPU time
  double fraction_of_peak = 0;
  std::string bound_by;
  double flop = 0, bytes = 0;
  double flop_per_byte = 0, flop_per_second = 0;
};

inline void describe(Fields& f, KernelShare& k) {
  f("kernel", k.kernel);
  f("algorithm", k.algorithm);
  f("count", k.count);
  f("total_ns", k.total_ns);
  f("share", k.share);
  f("fraction_of_peak", k.fraction_of_peak);
  f("flop", k.flop, {.meaning = "of one launch, really done by its algorithm", .low = 0});
  f("bytes", k.bytes, {.meaning = "of device memory that one launch moves", .low = 0});
  f("flop_per_byte", k.flop_per_byte,
    {.meaning = "operational intensity: its place along the roofline", .low = 0});
  f("flop_per_second", k.flop_per_second, {.meaning = "its height under the roofline", .low = 0});
  f("bound_by", k.bound_by, {.words = kBounds});
}

// The step of batches of one length, for --lengths.
struct LengthTime {
  Binding sizes;
  double share = 0;  // of all batches
  int64_t step_ns = 0;
};

inline void describe(Fields& f, LengthTime& l) {
  f("sizes", l.sizes, {.low = 1});
  f("share", l.share);
  f("step_ns", l.step_ns);
}

struct TimeEstimate {
  int64_t step_ns = 0, forward_ns = 0, backward_ns = 0, update_ns = 0;
  int64_t communication_ns = 0, input_copy_ns = 0;
  int64_t bubble_ns = 0;  // of a pipeline's stages
  // The GPU waits: for launches, the framework's work for each step, the loader, and offloading,
  // which is told by itself too.
  int64_t host_wait_ns = 0, offload_ns = 0;
  // What the step is made of: device work, dispatch by the host, the framework's own terms, what of
  // loading the next batch it waits for.
  int64_t gpu_ns = 0, host_ns = 0, framework_ns = 0, loader_ns = 0;
  int64_t loading_ns = 0;  // of all threads and processes that load, waited for or not
  std::string host_id;
  int64_t host_cores = 0;    // 0: not known
  double single_thread = 1;  // of the host
  std::string loader;
  int64_t roofline_ns = 0;  // of its kernels by datasheet figures alone: what a guess would say
  Range step_range_ns;
  double gpu_busy = 0, fp32_utilisation = 0, cpu_utilisation = 0;
  int64_t pcie_bytes = 0;
  // Over the slot of one GPU in a step; nothing: not known.
  std::optional<int64_t> to_device_bytes, from_device_bytes;
  bool host_bound = false, input_bound = false;
  int64_t launches = 0, parameter_arrays = 0;
  // Of operators by the host, one by one; some launch several kernels.
  int64_t dispatches = 0, forward_dispatches = 0;
  double samples_per_second = 0;  // of all devices together
  std::string sample_unit = "samples";
  std::optional<double> tokens_per_second;  // of all devices; nothing: the model counts no tokens
  // Operations of forward and backward passes without what is computed again, over the card's
  // fastest rate of the step's products and the step's time (Chowdhery et al., PaLM,
  // arXiv:2204.02311, appendix B). Nothing: the rate is not known.
  std::optional<double> mfu;
  // ... with what is computed again: by checkpoints, and attention's scores in its backward pass.
  std::optional<double> hfu;
  // Of an epoch: the request's, or those of the data set of the model's config.
  std::optional<int64_t> epoch_samples;
  // Once through them, and --epochs times.
  std::optional<int64_t> epoch_ns, run_ns;
  std::vector<std::string> basis;  // what it rests on, in sentences
  std::string provenance;          // "uncalibrated", or see TimeContext::basis()
  std::string evidence;            // what most of it was measured on, see Evidence: "card", ...
  std::vector<LengthTime> lengths;
  std::vector<KernelShare> kernels;
  std::vector<ClassShare> by_class;
  std::optional<StepLanes> lanes;  // of several GPUs, where the question asks for them
};

inline void describe_host(Fields& f, TimeEstimate& t) {
  f("id", t.host_id);
  f("single_thread", t.single_thread,
    {.meaning = "speed of one thread, Skylake-SP at 3.7 GHz being 1", .low = 0});
  f("launches_ns", t.host_ns);
  f("step_ns", t.framework_ns, "the framework's work for each step");
  f("loader_ns", t.loader_ns, "of loading the next batch what the step waits for");
  f("copy_ns", t.input_copy_ns);
  f("loader", t.loader, {.meaning = "none: no loader is in the figure", .words = kLoaders});
}

inline void describe(Fields& f, TimeEstimate& t) {
  f("step_ns", t.step_ns, {.title = "step"});
  f("forward_ns", t.forward_ns, {.title = "forward", .part_of = "step_ns"});
  f("backward_ns", t.backward_ns, {.title = "backward", .part_of = "step_ns"});
  f("update_ns", t.update_ns, {.title = "update", .part_of = "step_ns"});
  f("communication_ns", t.communication_ns, {.title = "communication", .part_of = "step_ns"});
  f("host_wait_ns", t.host_wait_ns,
    {.meaning = "the GPU waits for the host: for launches, the framework's work for each step, the "
                "loader and offload_ns",
     .title = "waiting for the host",
     .part_of = "step_ns"});
  f("offload_ns", t.offload_ns,
    {.meaning = "of what is offloaded: the GPU waits for copies to and from the host, and for the "
                "host's update of weights",
     .absent_where = t.offload_ns == 0,
     .title = "offload",
     .part_of = "host_wait_ns"});
  f("bubble_ns", t.bubble_ns,
    {.meaning = "of a pipeline: its stages wait for each other", .absent_where = t.bubble_ns == 0});
  f("input_copy_ns", t.input_copy_ns, {.title = "input copy", .part_of = "step_ns"});
  f("gpu_ns", t.gpu_ns);
  f("host_ns", t.host_ns);
  f("framework_ns", t.framework_ns);
  f("step_range_ns", t.step_range_ns);
  f("gpu_busy", t.gpu_busy);
  f("fp32_utilisation", t.fp32_utilisation);
  f("cpu_utilisation", t.cpu_utilisation);
  f("pcie_bytes", t.pcie_bytes);
  f("host_bound", t.host_bound,
    "launches, the framework's work for each step and the loader take longer than the GPU's work");
  f("input_bound", t.input_bound, "loader and input copy take longer than all else");
  f.object("host", [&] { describe_host(f, t); },
           {.meaning = "what the host's side of the step consists of"});
  f("launches", t.launches);
  f("samples_per_second", t.samples_per_second);
  f("sample_unit", t.sample_unit);
  f("tokens_per_second", t.tokens_per_second,
    {.meaning = "of all GPUs; null where the model counts no tokens", .low = 0});
  f("mfu", t.mfu,
    {.meaning = "operations of forward and backward, without recomputation, over peak_flops and "
                "the step's time; null where peak_flops is",
     .low = 0});
  f("hfu", t.hfu,
    {.meaning = "as mfu, with recomputation: what checkpoints run again, and the scores that "
                "attention's backward pass makes again",
     .low = 0});
  f("epoch_samples", t.epoch_samples,
    {.meaning = "of the request, or of the data set of the built-in model",
     .absent_where = !t.epoch_samples});
  f("epoch_ns", t.epoch_ns, {.meaning = "once through epoch_samples", .absent_where = !t.epoch_ns});
  f("run_ns", t.run_ns, {.absent_where = !t.run_ns});
  f("provenance", t.provenance);
  f("lengths", t.lengths, {.absent_where = t.lengths.empty()});
  f("by_class", t.by_class, "kernels summed by what they compute, most time first");
  f("kernels", t.kernels);
}

}  // namespace plimsoll
