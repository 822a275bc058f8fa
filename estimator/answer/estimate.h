// Estimate: the answer, with everything that any view shows. Views compute nothing: what is not
// here is not shown. Bytes and nanoseconds are integers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimator/answer/answer_notes.h"
#include "estimator/answer/memory_curve.h"
#include "estimator/answer/parallel.h"
#include "estimator/answer/peak_tensor.h"
#include "estimator/answer/remedy.h"
#include "estimator/answer/serve.h"
#include "estimator/answer/trace.h"
#include "estimator/memory/memory_estimate.h"
#include "estimator/memory/verdict.h"
#include "estimator/model/loaded_model.h"
#include "estimator/time/time_estimate.h"
#include "graph/ir/graph.h"
#include "graph/ir/recipe.h"
#include "graph/json/fields.h"

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

inline void describe(Fields& f, LayerEstimate& l, bool on_host) {
  f("node", l.node);
  f("op", l.op);
  f("module", l.module);
  f("output_shape", l.output_shape);
  f("parameters", l.parameters);
  f("weight_bytes", l.weight_bytes);
  f("gradient_bytes", l.gradient_bytes);
  f("feature_map_bytes", l.feature_map_bytes);
  f("workspace_bytes", l.workspace_bytes, {.null_where = on_host});
  f("optimizer_state_bytes", l.optimizer_state_bytes);
  f("flop_forward", l.flop_forward);
  f("flop_backward", l.flop_backward);
  f("bytes_forward", l.bytes_forward);
  f("bytes_backward", l.bytes_backward);
  f("forward_ns", l.forward_ns, {.null_where = on_host});
  f("backward_ns", l.backward_ns, {.null_where = on_host});
  const auto of_passes = [&](std::string_view key, const auto& describe_pass) {
    f.object(key, [&] {
      describe_pass("forward", l.forward);
      describe_pass("backward_data", l.backward_data);
      describe_pass("backward_weights", l.backward_weights);
    });
  };
  of_passes("algorithm", [&](std::string_view key, LayerPass& p) {
    f(key, p.algorithm, {.null_where = p.ns == 0 || p.algorithm.empty()});
  });
  of_passes("bound_by", [&](std::string_view key, LayerPass& p) {
    f(key, p.bound_by, {.null_where = p.ns == 0, .words = kBounds});
  });
  of_passes("fraction_of_peak", [&](std::string_view key, LayerPass& p) {
    f(key, p.fraction_of_peak, {.null_where = p.ns == 0});
  });
}

// One kept tensor, for --why.
struct KeptTensor {
  NodeId keeper = kNoNode, maker = kNoNode;
  std::string node;  // whose backward needs it
  std::string rule;
  std::string made_by;
  int64_t bytes = 0;
};

inline void describe(Fields& f, KeptTensor& k) {
  f("node", k.node);
  f("rule", k.rule);
  f("made_by", k.made_by);
  f("bytes", k.bytes);
}

// All layers below one part of the module path.
struct ModuleEstimate {
  std::string path;  // "layer1.0"; "(Conv)" for nodes that no module names, by operator
  int64_t depth = 1;
  int64_t layers = 0;
  int64_t parameters = 0, weight_bytes = 0, feature_map_bytes = 0;
  int64_t flop_forward = 0, flop_backward = 0, forward_ns = 0, backward_ns = 0;
};

inline void describe(Fields& f, ModuleEstimate& m) {
  f("path", m.path);
  f("depth", m.depth, {.low = 1});
  f("layers", m.layers);
  f("parameters", m.parameters);
  f("weight_bytes", m.weight_bytes);
  f("feature_map_bytes", m.feature_map_bytes);
  f("flop_forward", m.flop_forward);
  f("flop_backward", m.flop_backward);
  f("forward_ns", m.forward_ns);
  f("backward_ns", m.backward_ns);
}

struct Estimate : AnswerNotes {
  InputFacts input;
  // Of the step: a checkpoint's, where the request leaves it open.
  const PrecisionRow* precision = nullptr;
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
  ParallelAnswer parallel;
  MemoryEstimate memory;
  TimeEstimate time;
  std::optional<ServeEstimate> serve;  // of --mode serve
  std::vector<LayerEstimate> layers;
  std::vector<KeptTensor> kept;
  std::vector<std::string> recognised;  // what recover() found
  std::optional<Trace> trace;           // where the request asks for it
  // What would help where it does not surely fit: remedies() of estimator/app/search makes them.
  std::vector<Remedy> remedies;
  // Where the request asks for detail: of the step in which memory is read, and of `layers`.
  std::vector<MemoryMoment> memory_curve;
  std::vector<PeakTensor> peak_tensors;
  std::vector<ModuleEstimate> modules;
};

}  // namespace plimsoll
