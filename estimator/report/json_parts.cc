#include "estimator/report/json_parts.h"
#include "estimator/report/spelling.h"

namespace plimsoll {
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
  out.objects(curve, [&](const MemoryMoment& m) {
    out.key("launch").integer(m.launch);
    out.key("at_ns").integer(m.at_ns);
    out.key("phase").string(name(m.phase));
    out.key("node").string_or_null(m.node);
    write_roles(out.key("by_role"), m.live);
    out.key("bytes").integer(context_bytes + m.bytes);
  });
}

void write_memory_parts(JsonWriter& out, std::span<const MemoryPart> parts) {
  out.objects(parts, [&](const MemoryPart& p) {
    out.key("part").string(p.id);
    out.key("name").string(p.name);
    out.key("bytes").integer(p.bytes);
  });
}

void write_peak_tensors(JsonWriter& out, std::span<const PeakTensor> tensors) {
  out.objects(tensors, [&](const PeakTensor& t) {
    out.key("made_by").string_or_null(t.made_by);
    out.key("role").string(name(t.role));
    out.key("bytes").integer(t.bytes);
    out.key("last_use");
    if (t.resident) {
      out.null();
    } else {
      out.begin_object().key("phase").string(name(t.freed_in));
      out.key("node").string_or_null(t.freed_by);
      out.end_object();
    }
  });
}

void write_modules(JsonWriter& out, std::span<const ModuleEstimate> modules) {
  out.objects(modules, [&](const ModuleEstimate& m) {
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
  });
}

void write_classes(JsonWriter& out, std::span<const ClassShare> classes) {
  out.objects(classes, [&](const ClassShare& c) {
    out.key("class").string(c.kernel_class);
    out.key("library_kernel").string_or_null(c.library_kernel);
    out.key("count").integer(c.count);
    out.key("ns").integer(c.ns);
    out.key("share").real(c.share);
    out.key("fp32_utilisation").real(c.fp32_utilisation);
  });
}

void write_metrics(JsonWriter& out, const Metrics& metrics) {
  out.begin_object();
  for (const Metric& m : metrics.rates) {
    out.key(m.id).begin_object();
    out.key("value").real(m.value);
    out.key("unit").string(m.unit);
    out.key("definition").string(m.definition);
    if (!m.value) out.key("unknown").string(spelled(m.unknown));
    out.end_object();
  }
  out.key("memory").objects(metrics.memory, [&](const MemoryCategory& c) {
    out.key("category").string(c.id);
    out.key("bytes").integer(c.bytes);
    out.key("maximum_bytes").integer(c.maximum_bytes);
    out.key("share").real(c.share);
    out.key("definition").string(c.definition);
  });
  out.end_object();
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
