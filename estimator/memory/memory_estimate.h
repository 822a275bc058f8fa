// What a step needs of memory, with everything that a view shows of it. Bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "estimator/memory/module_storages.h"
#include "estimator/memory/timeline.h"
#include "estimator/memory/verdict.h"
#include "graph/json/fields.h"
#include "hwdb/context.h"

namespace plimsoll {

// Of a process that takes more than it needs as long as there is room: pools, scratch memory.
struct GrownMemory {
  int64_t bytes = 0;
  Range range;
};

// Of what is run between steps, with what of the training stays there.
struct EvaluationMemory {
  int64_t batch = 0;
  int64_t outputs_bytes = 0;   // of one pass, as they are gathered
  int64_t gathered_bytes = 0;  // on the card, of the passes before the last one
  int64_t live_peak_bytes = 0, allocated_peak_bytes = 0;
  int64_t step_live_peak_bytes = 0, step_allocated_peak_bytes = 0;
  Phase peak_phase = Phase::kForward;
  std::string peak_node;
  BytesByRole peak_by_role{};
  bool holds_peak = false;  // of the run: it takes more than a step
};

inline void describe(Fields& f, EvaluationMemory& m) {
  f("batch", m.batch, {.low = 1});
  f("outputs_bytes", m.outputs_bytes, "what the model returns for one batch");
  f("gathered_bytes", m.gathered_bytes, "outputs of earlier batches that are still on the GPU");
  f("live_peak_bytes", m.live_peak_bytes, "live tensors at most while the model is evaluated");
  f("allocated_peak_bytes", m.allocated_peak_bytes);
  f("step_live_peak_bytes", m.step_live_peak_bytes, "the same of a training step");
  f("step_allocated_peak_bytes", m.step_allocated_peak_bytes);
  f.object("peak", [&] {
    f("phase", m.peak_phase);
    f("node", m.peak_node, {.null_where = m.peak_node.empty()});
    describe_roles(f, "by_role", m.peak_by_role);
  });
  f("holds_peak", m.holds_peak, "the peak of the run is in the evaluation, not in a step");
}

// Of how weights come to the card, before the first step.
struct LoadingMemory {
  std::string how;  // of kWeightLoadings
  int64_t live_peak_bytes = 0, allocated_peak_bytes = 0;
  int64_t reserved_bytes = 0;  // by the allocator when they are there
  int64_t step_live_peak_bytes = 0, step_allocated_peak_bytes = 0;
  bool holds_peak = false;  // of the run: it takes more than what follows
};

inline void describe(Fields& f, LoadingMemory& m) {
  f("how", m.how, "how the program loads its weights");
  f("live_peak_bytes", m.live_peak_bytes, "live tensors at most while weights are loaded");
  f("allocated_peak_bytes", m.allocated_peak_bytes);
  f("reserved_bytes", m.reserved_bytes,
    "what the allocator has reserved when the weights are loaded; steps reuse it");
  f("step_live_peak_bytes", m.step_live_peak_bytes, "live tensors at most after loading");
  f("step_allocated_peak_bytes", m.step_allocated_peak_bytes);
  f("holds_peak", m.holds_peak, "the peak of the run is in loading, not in a step");
}

struct MemoryEstimate {
  int64_t parameter_count = 0;
  int64_t parameter_bytes = 0, buffer_bytes = 0, gradient_bytes = 0, optimizer_state_bytes = 0;
  int64_t input_bytes = 0;
  int64_t persistent_bytes = 0;  // what stays between steps, in the allocator's granules
  int64_t library_bytes = 0;     // buffers of libraries that stay too, in the allocator
  int64_t saved_bytes = 0;
  int64_t live_peak_bytes = 0;
  BytesByRole max_by_role{};
  int64_t activations_peak_bytes = 0;                // of feature maps and temporaries together
  std::array<int64_t, kPhaseCount> max_temporary{};  // of temporaries, by phase
  Phase peak_phase = Phase::kForward;
  std::string peak_node;  // "layer1.0.conv3" or the node's name; empty between nodes
  BytesByRole peak_by_role{};
  std::optional<EvaluationMemory> evaluation;
  std::optional<LoadingMemory> loading;   // where it needs more than what it leaves
  std::optional<ModuleStorages> modules;  // of frameworks whose modules hold them
  int64_t workspace_bytes = 0;
  int64_t timed_workspace_bytes = 0;  // most that timing an algorithm asks for; 0: none is timed
  std::string workspace_basis;        // "rule", "asked", "measured", "none"
  int64_t allocated_peak_bytes = 0, reserved_bytes = 0;
  // Of a later step, in which nothing is tried out; its range where how far off a framework's plan
  // of its tensors is has been measured.
  int64_t steady_allocated_bytes = 0;
  std::optional<Range> steady_range;
  // Of a first step in which plans are timed with scratch memory that is given back, and that may
  // be less where the card is full; else 0.
  int64_t timing_peak_bytes = 0;
  int64_t context_bytes = 0, device_bytes = 0;
  std::optional<ModuleLoading> module_loading;
  std::string context_basis;  // which row, and why; empty where it was given
  Range device_range;
  Verdict verdict = Verdict::kDoesNotFit;  // of device_range
  // What a name of the Python code that outlives its use, or ends before it, may add or take at the
  // peak: in inference, and in a forward pass whose file does not list the code. In device_range.
  int64_t held_by_names = 0;
  int64_t more_by_names = 0;             // in training: up to the end of the call that made them
  std::optional<int64_t> minimum_bytes;  // at most device_bytes; where the request asks
  // By a framework that takes the card whatever it needs, else 0; and what the process takes where
  // there is room (told to grow where it would take the card). What it needs, the smallest memory
  // in which its steps run and the context, is device_bytes then (demand.h).
  int64_t taken_bytes = 0;
  std::optional<GrownMemory> grown;
  int64_t offloaded_bytes = 0;  // in the host's memory, of this GPU's step, at most
  int64_t host_bytes = 0;       // of the process and those that load its batches
  bool host_asked = false;      // the request says how data are loaded
  Range host_range;

  bool in_loading() const { return loading && loading->holds_peak; }
  bool in_evaluation() const { return !in_loading() && evaluation && evaluation->holds_peak; }
};

// "backward", "evaluation, loss" or "loading": what the run does at its peak.
inline std::string peak_moment(const MemoryEstimate& m) {
  if (m.in_loading()) return "loading";
  return (m.in_evaluation() ? "evaluation, " : "") + std::string(name(m.peak_phase));
}

// `on_host`: nothing runs on a card. `in_peak` describes what more is known of the peak.
template <class InPeak>
void describe(Fields& f, MemoryEstimate& m, bool on_host, InPeak in_peak) {
  f.object("parameters", [&] {
    f("count", m.parameter_count, {.title = "parameters"});
    f("bytes", m.parameter_bytes);
  });
  f("buffers_bytes", m.buffer_bytes);
  f("gradients_bytes", m.gradient_bytes);
  f("optimizer_state_bytes", m.optimizer_state_bytes, {.title = "optimizer state"});
  f("inputs_bytes", m.input_bytes);
  f("persistent_bytes", m.persistent_bytes,
    {.meaning = "what stays between steps on this GPU: weights, optimizer states, master weights, "
                "buffers and gradients that are kept, rounded as the allocator does",
     .title = "stays between steps",
     .part_of = "reserved_bytes"});
  f("saved_bytes", m.saved_bytes, {.title = "kept for backward"});
  f("live_peak_bytes", m.live_peak_bytes, {.title = "live tensors", .part_of = "reserved_bytes"});
  describe_roles(f, "max_by_role", m.max_by_role);
  f.object("peak", [&] {
    f("phase", m.peak_phase,
      {.meaning = "null: the peak is in loading", .null_where = m.in_loading()});
    f("node", m.peak_node, {.null_where = m.peak_node.empty()});
    describe_roles(f, "by_role", m.peak_by_role);
    f("during",
      std::string(m.in_loading()      ? "loading"
                  : m.in_evaluation() ? "evaluation"
                                      : "step"),
      {.meaning = "what the run does at its peak", .absent_where = !m.evaluation && !m.loading});
    in_peak();
  });
  f("evaluation", m.evaluation,
    {.meaning = "of what is run between steps", .absent_where = !m.evaluation});
  f("loading", m.loading,
    {.meaning = "of how weights come to the GPU before the first step",
     .absent_where = !m.loading});
  f("workspace_bytes", m.workspace_bytes,
    {.meaning = "null: not known of a run on the host",
     .null_where = on_host,
     .title = "library workspace",
     .part_of = "reserved_bytes"});
  f("workspace_basis", m.workspace_basis);
  f("allocated_peak_bytes", m.allocated_peak_bytes);
  f("timing_peak_bytes", m.timing_peak_bytes, {.absent_where = false});
  f("reserved_bytes", m.reserved_bytes,
    {.title = "reserved by the allocator", .part_of = "device_bytes"});
  f("context_bytes", m.context_bytes,
    {.meaning = "of a run on the host: its process, data set and loaders; null there where the "
                "framework's are not known",
     .null_where = on_host && m.host_bytes == 0,
     .title = "context and libraries",
     .part_of = "device_bytes"});
  f("module_loading", m.module_loading,
    "that context_bytes stands for; null: not stated by the context's source, or no matter");
  f("device_bytes", m.device_bytes, {.title = "peak on the GPU"});
  f("device_range_bytes", m.device_range);
  f("minimum_bytes", m.minimum_bytes, "smallest capacity in which the step still runs");
  f("taken_bytes", m.taken_bytes,
    "what a framework takes of the card whatever it needs; 0: what it needs");
  f("grown_bytes", m.grown ? std::optional(m.grown->bytes) : std::nullopt,
    {.meaning =
         "for a framework that is judged by the least memory in which its step runs: what the "
         "process uses if there is room; for one that reserves the whole GPU: in its growth mode",
     .null_where = !m.grown,
     .absent_where = false});
  f("grown_range_bytes", m.grown ? m.grown->range : Range{},
    {.meaning = "[low, high] of this figure", .null_where = !m.grown, .absent_where = false});
  f("offloaded_bytes", m.offloaded_bytes,
    {.meaning = "that the step of this GPU has in the host's memory, at most; pinned blocks are "
                "powers of two",
     .absent_where = m.offloaded_bytes == 0,
     .title = "offloaded to the host"});
  f("host_bytes", m.host_bytes,
    {.meaning = "null, and N519, where the host's memory of the framework is not known",
     .null_where = m.host_bytes <= 0});
  f("host_range_bytes", m.host_range, {.null_where = m.host_bytes <= 0, .absent_where = false});
}

}  // namespace plimsoll
