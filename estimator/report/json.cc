#include "estimator/report/json.h"

#include <cmath>

#include "estimator/report/json_parts.h"
#include "estimator/report/spelling.h"
#include "estimator/report/version.h"
#include "graph/json/writer.h"

namespace plimsoll {
namespace {

std::string_view name(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "error";
}

void write_diagnostic(JsonWriter& out, const Diagnostic& diagnostic) {
  const Diagnostic d = spelled(diagnostic);
  out.begin_object();
  out.key("code").string(d.code);
  out.key("severity").string(name(d.severity));
  out.key("message").string(d.message);
  if (!d.place.file.empty()) out.key("file").string(d.place.file);
  if (d.place.line > 0) out.key("line").integer(d.place.line);
  if (d.place.column > 0) out.key("column").integer(d.place.column);
  out.key("node").string_or_null(d.place.node);
  if (!d.help.empty()) out.key("help").string(d.help);
  out.end_object();
}

void write_input(JsonWriter& out, const InputFacts& input) {
  out.begin_object();
  out.key("model").string(input.model);
  out.key("path").string_or_null(input.path);
  out.key("sha256").string_or_null(input.sha256);
  out.key("batch").integer(input.batch);
  out.key("symbols").begin_object();
  for (const auto& [symbol, value] : input.symbols) out.key(symbol).integer(value);
  out.end_object().end_object();
}

void write_memory(JsonWriter& out, const Estimate& e, bool parts) {
  const MemoryEstimate& m = e.memory;
  out.begin_object();
  out.key("parameters").begin_object();
  out.key("count").integer(m.parameter_count);
  out.key("bytes").integer(m.parameter_bytes).end_object();
  out.key("buffers_bytes").integer(m.buffer_bytes);
  out.key("gradients_bytes").integer(m.gradient_bytes);
  out.key("optimizer_state_bytes").integer(m.optimizer_state_bytes);
  out.key("inputs_bytes").integer(m.input_bytes);
  out.key("saved_bytes").integer(m.saved_bytes);
  out.key("live_peak_bytes").integer(m.live_peak_bytes);
  out.key("max_by_role");
  write_roles(out, m.max_by_role);
  out.key("peak").begin_object();
  out.key("phase").string(plimsoll::name(m.peak_phase));
  out.key("node").string_or_null(m.peak_node);
  out.key("by_role");
  write_roles(out, m.peak_by_role);
  if (parts) write_memory_parts(out.key("parts"), memory_parts(e));
  if (!e.peak_tensors.empty()) write_peak_tensors(out.key("tensors"), e.peak_tensors);
  out.end_object();
  out.key("workspace_bytes");
  e.on_host ? out.null() : out.integer(m.workspace_bytes);
  out.key("workspace_basis").string(m.workspace_basis);
  out.key("allocated_peak_bytes").integer(m.allocated_peak_bytes);
  out.key("timing_peak_bytes").integer(m.timing_peak_bytes);
  out.key("reserved_bytes").integer(m.reserved_bytes);
  out.key("context_bytes");
  (e.on_host && m.host_bytes == 0) ? out.null() : out.integer(m.context_bytes);
  out.key("module_loading");
  m.module_loading ? out.string(plimsoll::name(*m.module_loading)) : out.null();
  out.key("device_bytes").integer(m.device_bytes);
  out.key("device_range_bytes");
  write_range(out, m.device_range);
  out.key("minimum_bytes").integer(m.minimum_bytes);
  out.key("taken_bytes").integer(m.taken_bytes);
  out.key("grown_bytes");
  m.grown ? out.integer(m.grown->bytes) : out.null();
  out.key("grown_range_bytes");
  m.grown ? write_range(out, m.grown->range) : static_cast<void>(out.null());
  out.key("host_bytes");
  m.host_bytes > 0 ? out.integer(m.host_bytes) : out.null();
  out.key("host_range_bytes");
  m.host_bytes > 0 ? write_range(out, m.host_range) : static_cast<void>(out.null());
  if (!e.memory_curve.empty())
    write_memory_curve(out.key("curve"), e.memory_curve, m.context_bytes);
  out.end_object();
}

void write_lengths(JsonWriter& out, const std::vector<LengthTime>& lengths) {
  out.key("lengths").objects(lengths, [&](const LengthTime& l) {
    out.key("sizes").begin_object();
    for (const auto& [symbol, size] : l.sizes) out.key(symbol).integer(size);
    out.end_object();
    out.key("share").real(l.share);
    out.key("step_ns").integer(l.step_ns);
  });
}

void write_time(JsonWriter& out, const TimeEstimate& t) {
  out.begin_object();
  out.key("step_ns").integer(t.step_ns);
  out.key("forward_ns").integer(t.forward_ns);
  out.key("backward_ns").integer(t.backward_ns);
  out.key("update_ns").integer(t.update_ns);
  out.key("communication_ns").integer(t.communication_ns);
  out.key("input_copy_ns").integer(t.input_copy_ns);
  out.key("gpu_ns").integer(t.gpu_ns);
  out.key("host_ns").integer(t.host_ns);
  out.key("framework_ns").integer(t.framework_ns);
  out.key("step_range_ns");
  write_range(out, t.step_range_ns);
  out.key("gpu_busy").real(t.gpu_busy);
  out.key("fp32_utilisation").real(t.fp32_utilisation);
  out.key("cpu_utilisation").real(t.cpu_utilisation);
  out.key("pcie_bytes").integer(t.pcie_bytes);
  out.key("host_bound").boolean(t.host_bound);
  out.key("input_bound").boolean(t.input_bound);
  out.key("host").begin_object();
  out.key("id").string(t.host_id);
  out.key("single_thread").real(t.single_thread);
  out.key("launches_ns").integer(t.host_ns);
  out.key("step_ns").integer(t.framework_ns);
  out.key("loader_ns").integer(t.loader_ns);
  out.key("copy_ns").integer(t.input_copy_ns);
  out.key("loader").string(t.loader);
  out.end_object();
  out.key("launches").integer(t.launches);
  out.key("samples_per_second").real(t.samples_per_second);
  out.key("sample_unit").string(t.sample_unit);
  if (t.epoch_ns) out.key("epoch_ns").integer(*t.epoch_ns);
  if (t.run_ns) out.key("run_ns").integer(*t.run_ns);
  out.key("provenance").string(t.provenance);
  if (!t.lengths.empty()) write_lengths(out, t.lengths);
  write_classes(out.key("by_class"), t.by_class);
  out.key("kernels").objects(t.kernels, [&](const KernelShare& k) {
    out.key("kernel").string(k.kernel);
    out.key("algorithm").string(k.algorithm);
    out.key("count").integer(k.count);
    out.key("total_ns").integer(k.total_ns);
    out.key("share").real(k.share);
    out.key("fraction_of_peak").real(k.fraction_of_peak);
    out.key("flop").real(k.flop);
    out.key("bytes").real(k.bytes);
    out.key("flop_per_byte").real(k.flop_per_byte);
    out.key("flop_per_second").real(k.flop_per_second);
    out.key("bound_by").string(k.bound_by);
  });
  out.end_object();
}

void write_layer(JsonWriter& out, const LayerEstimate& l, bool on_host) {
  const auto unknown_on_host = [&](std::string_view key, int64_t value) {
    out.key(key);
    on_host ? out.null() : out.integer(value);
  };
  out.begin_object();
  out.key("node").string(l.node);
  out.key("op").string(l.op);
  out.key("module").string(l.module);
  out.key("output_shape").string(l.output_shape);
  out.key("parameters").integer(l.parameters);
  out.key("weight_bytes").integer(l.weight_bytes);
  out.key("gradient_bytes").integer(l.gradient_bytes);
  out.key("feature_map_bytes").integer(l.feature_map_bytes);
  unknown_on_host("workspace_bytes", l.workspace_bytes);
  out.key("optimizer_state_bytes").integer(l.optimizer_state_bytes);
  out.key("flop_forward").integer(l.flop_forward);
  out.key("flop_backward").integer(l.flop_backward);
  out.key("bytes_forward").integer(l.bytes_forward);
  out.key("bytes_backward").integer(l.bytes_backward);
  unknown_on_host("forward_ns", l.forward_ns);
  unknown_on_host("backward_ns", l.backward_ns);
  const auto of_passes = [&](std::string_view key, const auto& write) {
    out.key(key).begin_object();
    for (const auto& [name, pass] :
         {std::pair("forward", &l.forward), std::pair("backward_data", &l.backward_data),
          std::pair("backward_weights", &l.backward_weights)}) {
      out.key(name);
      pass->ns == 0 ? out.null() : write(*pass);
    }
    out.end_object();
  };
  of_passes("algorithm", [&](const LayerPass& p) -> JsonWriter& {
    return p.algorithm.empty() ? out.null() : out.string(p.algorithm);
  });
  of_passes("bound_by", [&](const LayerPass& p) -> JsonWriter& { return out.string(p.bound_by); });
  of_passes("fraction_of_peak",
            [&](const LayerPass& p) -> JsonWriter& { return out.real(p.fraction_of_peak); });
  out.end_object();
}

void write_kept(JsonWriter& out, const KeptTensor& k) {
  out.key("node").string(k.node);
  out.key("rule").string(k.rule);
  out.key("made_by").string(k.made_by);
  out.key("bytes").integer(k.bytes);
}

void write_remedies(JsonWriter& out, const std::vector<Remedy>& remedies) {
  out.key("remedies").objects(remedies, [&](const Remedy& r) {
    out.key("flags").string(spelled(r.settings));
    out.key("effect").string(r.effect);
    out.key("verdict").string(plimsoll::name(r.verdict));
    out.key("device_bytes").integer(r.device_bytes);
    write_range(out.key("device_range_bytes"), r.device_range);
    out.key("step_ns").integer(r.step_ns);
    out.key("samples_per_second").real(r.samples_per_second);
  });
}

void write_verdict(JsonWriter& out, const Estimate& e) {
  const bool known = e.judged();
  const bool may_fit = e.memory.verdict == Verdict::kMayFit;
  out.key("fits");
  known ? out.boolean(e.fits) : out.null();
  out.key("may_fit");
  known ? out.boolean(may_fit) : out.null();
  out.key("verdict");
  known ? out.string(plimsoll::name(e.memory.verdict)) : out.null();
}

void write_result(JsonWriter& out, const Estimate& e, const JsonOptions& options) {
  out.begin_object();
  write_verdict(out, e);
  out.key("device").begin_object();
  out.key("id").string(e.device_id);
  out.key("name").string(e.device_name);
  const auto capacity = [&](std::string_view key, int64_t bytes) {
    out.key(key);
    e.device_memory_bytes > 0 || !e.on_host ? out.integer(bytes) : out.null();
  };
  capacity("memory_bytes", e.device_memory_bytes);
  capacity("usable_bytes", e.usable_bytes);
  out.key("peak_flops").real(e.peak_flops);
  out.key("bandwidth_bytes_per_second").real(e.bandwidth_bytes_per_second);
  out.end_object();
  out.key("memory");
  write_memory(out, e, !e.peak_tensors.empty() || options.unbeaten);
  out.key("time");
  e.on_host ? static_cast<void>(out.null()) : write_time(out, e.time);
  write_metrics(out.key("metrics"), metrics_of(e));
  out.key("layers").begin_array();
  if (options.lists != JsonOptions::Lists::kNeither) {
    for (const LayerEstimate& l : e.layers) write_layer(out, l, e.on_host);
  }
  out.end_array();
  if (!e.modules.empty()) write_modules(out.key("modules"), e.modules);
  if (options.batches) write_batches(out.key("batches"), *options.batches);
  if (options.unbeaten) out.key("unbeaten").boolean(*options.unbeaten);
  if (options.lists == JsonOptions::Lists::kAll && !e.kept.empty()) {
    out.key("kept").objects(e.kept, [&](const KeptTensor& k) { write_kept(out, k); });
  }
  write_remedies(out, e.remedies);
  out.key("recognised").strings(e.recognised).end_object();
}

}  // namespace

std::string to_json(const Estimate& e, const JsonOptions& options) {
  JsonWriter out = begin_document("plimsoll.estimate", options.layout);
  out.key("input");
  write_input(out, e.input);
  out.key("result");
  write_result(out, e, options);
  out.key("basis").begin_array();
  for (const std::string& text : e.basis) out.string(spelled(text));
  out.end_array();
  out.key("diagnostics").begin_array();
  for (const Diagnostic& d : e.diagnostics) write_diagnostic(out, d);
  out.end_array().end_object();
  return out.take() + "\n";
}

std::string to_json(const Diagnostic& diagnostic) {
  JsonWriter out;
  write_diagnostic(out, diagnostic);
  return out.take() + "\n";
}

}  // namespace plimsoll
