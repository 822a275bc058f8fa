#include "estimator/report/json_parts.h"
#include "estimator/report/spelling.h"

namespace plimsoll {
namespace {

void node_or_null(JsonWriter& out, std::string_view key, const std::string& node) {
  out.key(key);
  node.empty() ? out.null() : out.string(node);
}

}  // namespace

void write_range(JsonWriter& out, const Range& range) {
  out.begin_array().integer(range.low).integer(range.high).end_array();
}

void write_roles(JsonWriter& out, const BytesByRole& bytes) {
  out.begin_object();
  for (int r = 0; r < kRoleCount; ++r) {
    const auto role = static_cast<Role>(r);
    if (role != Role::kContext) out.key(name(role)).integer(bytes[static_cast<size_t>(r)]);
  }
  out.end_object();
}

void write_memory_curve(JsonWriter& out, std::span<const MemoryMoment> curve,
                        int64_t context_bytes) {
  out.begin_array();
  for (const MemoryMoment& m : curve) {
    out.begin_object();
    out.key("launch").integer(m.launch);
    out.key("at_ns").integer(m.at_ns);
    out.key("phase").string(name(m.phase));
    node_or_null(out, "node", m.node);
    write_roles(out.key("by_role"), m.live);
    out.key("bytes").integer(context_bytes + m.bytes);
    out.end_object();
  }
  out.end_array();
}

void write_memory_parts(JsonWriter& out, std::span<const MemoryPart> parts) {
  out.begin_array();
  for (const MemoryPart& p : parts) {
    out.begin_object();
    out.key("part").string(p.id);
    out.key("name").string(p.name);
    out.key("bytes").integer(p.bytes);
    out.end_object();
  }
  out.end_array();
}

void write_peak_tensors(JsonWriter& out, std::span<const PeakTensor> tensors) {
  out.begin_array();
  for (const PeakTensor& t : tensors) {
    out.begin_object();
    node_or_null(out, "made_by", t.made_by);
    out.key("role").string(name(t.role));
    out.key("bytes").integer(t.bytes);
    out.key("last_use");
    if (t.resident) {
      out.null();
    } else {
      out.begin_object().key("phase").string(name(t.freed_in));
      node_or_null(out, "node", t.freed_by);
      out.end_object();
    }
    out.end_object();
  }
  out.end_array();
}

void write_modules(JsonWriter& out, std::span<const ModuleEstimate> modules) {
  out.begin_array();
  for (const ModuleEstimate& m : modules) {
    out.begin_object();
    out.key("path").string(m.path);
    out.key("depth").integer(m.depth);
    out.key("layers").integer(m.layers);
    out.key("parameters").integer(m.parameters);
    out.key("weight_bytes").integer(m.weight_bytes);
    out.key("feature_map_bytes").integer(m.feature_map_bytes);
    out.key("flop_forward").integer(m.flop_forward);
    out.key("flop_backward").integer(m.flop_backward);
    out.key("forward_ns").integer(m.forward_ns);
    out.key("backward_ns").integer(m.backward_ns);
    out.end_object();
  }
  out.end_array();
}

void write_classes(JsonWriter& out, std::span<const ClassShare> classes) {
  out.begin_array();
  for (const ClassShare& c : classes) {
    out.begin_object();
    out.key("class").string(c.kernel_class);
    out.key("library_kernel");
    c.library_kernel.empty() ? out.null() : out.string(c.library_kernel);
    out.key("count").integer(c.count);
    out.key("ns").integer(c.ns);
    out.key("share").real(c.share);
    out.key("fp32_utilisation").real(c.fp32_utilisation);
    out.end_object();
  }
  out.end_array();
}

void write_metrics(JsonWriter& out, const Metrics& metrics) {
  out.begin_object();
  for (const Metric& m : metrics.rates) {
    out.key(m.id).begin_object();
    out.key("value");
    m.value ? out.real(*m.value) : out.null();
    out.key("unit").string(m.unit);
    out.key("definition").string(m.definition);
    if (!m.value) out.key("unknown").string(spelled(m.unknown));
    out.end_object();
  }
  out.key("memory").begin_array();
  for (const MemoryCategory& c : metrics.memory) {
    out.begin_object();
    out.key("category").string(c.id);
    out.key("bytes").integer(c.bytes);
    out.key("maximum_bytes").integer(c.maximum_bytes);
    out.key("share").real(c.share);
    out.key("definition").string(c.definition);
    out.end_object();
  }
  out.end_array().end_object();
}

void write_batches(JsonWriter& out, const LargestBatch& largest) {
  out.begin_object();
  out.key("safe").integer(largest.answer.safe);
  write_range(out.key("may_fit"), {largest.answer.first_may_fit, largest.answer.last_may_fit});
  out.key("searched_to").integer(largest.answer.searched_to);
  out.key("as_fast").integer(largest.as_fast);
  out.key("rounds").begin_array();
  for (const RoundBatch& r : largest.rounds) {
    const Range range{r.memory.low, r.memory.high};
    out.begin_object();
    out.key("batch").integer(r.memory.batch);
    out.key("device_bytes").integer(r.memory.device_bytes);
    write_range(out.key("range"), range);
    out.key("verdict").string(name(verdict_of(range, largest.usable_bytes)));
    out.key("step_ns").integer(r.step_ns);
    out.key("samples_per_second").real(r.samples_per_second);
    out.end_object();
  }
  out.end_array().end_object();
}

}  // namespace plimsoll
