// NodeReport: everything that is known about one node of a model, for "why this number?": its
// tensors, what it keeps for the backward pass and by which rule, and each of its kernels with what
// bounds it.
//
//   auto reports = explain_node(evaluator, model, model.binding, "layer1.0.conv1");
//   (*reports)[0].kernels[0].bound_by;   // "compute"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "estimator/app/explain/time_chain.h"
#include "estimator/app/explain/weight_sharing.h"
#include "estimator/estimator.h"
#include "graph/json/fields.h"

namespace plimsoll {

struct TensorReport {
  std::string name;
  std::string kind = {};   // "input", "parameter", "value"
  std::string dtype;       // "f32"
  std::string shape = {};  // "32x64x112x112" at the point; empty where it is not known
  int64_t bytes = 0;       // as asked for
};

inline void describe(Fields& f, TensorReport& t) {
  f("name", t.name);
  f("kind", t.kind);
  f("dtype", t.dtype);
  f("shape", t.shape);
  f("bytes", t.bytes);
}

// A convolution by one of the algorithms that the library has.
struct AlgorithmReport {
  std::string algorithm;
  int64_t ns = 0;  // of one launch in the step, as the kernel's
  int64_t flop = 0, bytes_moved = 0;
  int64_t workspace_bytes = 0;
};

inline void describe(Fields& f, AlgorithmReport& a) {
  f("algorithm", a.algorithm);
  f("ns", a.ns);
  f("flop", a.flop);
  f("bytes_moved", a.bytes_moved);
  f("workspace_bytes", a.workspace_bytes);
}

struct KernelReport {
  std::string kernel;       // "conv forward 32x64x56x56 -> 64, 3x3"
  std::string phase;        // "forward", "loss", "backward", "update"
  std::string algorithm;    // empty for memory-bound work
  std::string arithmetic;   // the unit whose peak counts: "f32", "f16_tensor"
  int64_t launches = 0;     // by this node in a step
  int64_t flop = 0;         // of the mathematics
  int64_t flop_done = 0;    // of the algorithm, which may save some
  int64_t bytes = 0;        // compulsory traffic: every operand once
  int64_t bytes_moved = 0;  // device memory traffic of the algorithm
  int64_t ns = 0;           // of one launch
  Range range_ns;
  int64_t compute_ns = 0;  // flop_done at the device's peak
  int64_t dram_ns = 0;     // bytes_moved at the device's bandwidth
  std::string bound_by = {};
  double fraction_of_peak = 0;
  int64_t workspace_bytes = 0;
  std::string workspace_basis = {};  // "table", "rule", "interval"; empty where there is none
  std::string time_basis = {};       // see TimeContext::basis()
  std::vector<TimeLine> chain = {};  // the last one's figure is `ns`
  std::vector<AlgorithmReport> algorithms = {};  // of a convolution, the fastest first
};

inline void describe(Fields& f, KernelReport& k) {
  f("kernel", k.kernel);
  f("phase", k.phase);
  f("algorithm", k.algorithm, {.null_where = k.algorithm.empty()});
  f("arithmetic", k.arithmetic);
  f("launches", k.launches);
  f("flop", k.flop);
  f("flop_done", k.flop_done);
  f("bytes", k.bytes);
  f("bytes_moved", k.bytes_moved);
  f("ns", k.ns);
  f("range_ns", k.range_ns);
  f("compute_ns", k.compute_ns);
  f("dram_ns", k.dram_ns);
  f("bound_by", k.bound_by);
  f("fraction_of_peak", k.fraction_of_peak);
  f("workspace_bytes", k.workspace_bytes);
  f("workspace_basis", k.workspace_basis, {.null_where = k.workspace_basis.empty()});
  f("time_basis", k.time_basis);
  f("chain", k.chain, {.least = 1});
  f("algorithms", k.algorithms);
}

struct NodeReport {
  std::string node;  // "node 57 '/layer3/conv2/Conv' (Conv)"
  LayerEstimate layer;
  std::vector<TensorReport> inputs, outputs;
  std::vector<WeightSharing> shared;  // of its weights, those that several GPUs share
  std::vector<KeptTensor> keeps;      // kept for this node's backward pass
  std::vector<KeptTensor> made;       // made by this node, kept for another's
  std::vector<KernelReport> kernels;
};

inline void describe(Fields& f, NodeReport& n) {
  f("node", n.node);
  f("op", n.layer.op);
  f("module", n.layer.module);
  f("parameters", n.layer.parameters);
  f("weight_bytes", n.layer.weight_bytes);
  f("gradient_bytes", n.layer.gradient_bytes);
  f("optimizer_state_bytes", n.layer.optimizer_state_bytes);
  f("feature_map_bytes", n.layer.feature_map_bytes);
  f("inputs", n.inputs);
  f("outputs", n.outputs);
  f("shared", n.shared,
    {.meaning = "weights that several GPUs share", .absent_where = n.shared.empty()});
  f("keeps", n.keeps);
  f("made", n.made);
  f("kernels", n.kernels);
}

struct Explained {
  std::string what;  // the name that was asked for
  InputFacts input;
  std::string device_id;
  double bandwidth = 0;  // B/s, what dram_ns divides by
  std::vector<NodeReport> nodes = {};
  AnswerNotes notes = {};
};

// The nodes that `name` means: those of that name, else those of that module and within it. E153
// with the nearest for a name nobody has. At a binding where the model's guards hold. Cost: of an
// estimate without replaying the allocator.
Result<Explained> explain_node(const Evaluator& evaluator, const CompiledModel& model,
                               const Binding& binding, std::string_view name);

}  // namespace plimsoll
