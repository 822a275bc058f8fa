#include "estimator/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "estimator/request/lengths.h"
#include "graph/base/escape.h"

namespace plimsoll {

std::string human_bytes(int64_t bytes) {
  static constexpr std::array<std::pair<double, std::string_view>, 4> kUnits = {
      {{1099511627776.0, "TiB"}, {1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}}};
  const auto value = static_cast<double>(bytes);
  for (const auto& [size, unit] : kUnits) {
    if (std::abs(value) >= size) return fmt::format("{:.1f} {}", value / size, unit);
  }
  return fmt::format("{} B", bytes);
}

std::string human_time(int64_t ns) {
  const auto value = static_cast<double>(ns);
  if (ns >= 3600LL * 1000000000) return fmt::format("{:.1f} h", value / 3.6e12);
  if (ns >= 120LL * 1000000000) return fmt::format("{:.1f} min", value / 6e10);
  if (ns >= 1000000000) return fmt::format("{:.2f} s", value / 1e9);
  if (ns >= 1000000) return fmt::format("{:.{}f} ms", value / 1e6, ns >= 100000000 ? 0 : 1);
  return fmt::format("{:.1f} us", value / 1e3);
}

std::string_view headline(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return "FITS";
    case Verdict::kMayFit:
      return "MAY FIT";
    case Verdict::kDoesNotFit:
      return "DOES NOT FIT";
  }
  return "DOES NOT FIT";
}

namespace {

double percent(int64_t part, int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string number(double value) {
  return fmt::format("{:.{}f}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

std::string answer(const Estimate& e) {
  const int64_t peak = e.memory.device_bytes;
  const int64_t room = e.usable_bytes - peak;
  const std::string verdict =
      fmt::format("{}   peak {} of {} ({:.0f} %), {} {}", headline(e.memory.verdict),
                  human_bytes(peak), human_bytes(e.usable_bytes), percent(peak, e.usable_bytes),
                  human_bytes(std::abs(room)), room >= 0 ? "free" : "too much");
  std::string text =
      fmt::format("{:<68} range {} - {}\n", verdict, human_bytes(e.memory.device_range.low),
                  human_bytes(e.memory.device_range.high));
  const std::string pace = escaped_format(
      "       step {}, {} {}/s{}", human_time(e.time.step_ns), number(e.time.samples_per_second),
      e.time.sample_unit, e.time.run_ns ? ", whole run " + human_time(*e.time.run_ns) : "");
  text += fmt::format("{:<68} range {} - {}\n", pace, human_time(e.time.step_range_ns.low),
                      human_time(e.time.step_range_ns.high));
  return text;
}

struct Part {
  std::string name;
  int64_t bytes;
};

std::vector<Part> parts_of(const Estimate& e) {
  static constexpr std::array<std::pair<Role, std::string_view>, 8> kNames = {
      {{Role::kFeatureMap, "feature maps kept for backward"},
       {Role::kTemporary, "temporaries"},
       {Role::kWorkspace, "library workspace"},
       {Role::kParameter, "weights"},
       {Role::kGradient, "gradients"},
       {Role::kOptimizerState, "optimizer state"},
       {Role::kInput, "input batch and targets"},
       {Role::kBuffer, "buffers"}}};
  std::vector<Part> parts;
  int64_t sum = 0;
  for (const auto& [role, name] : kNames) {
    const int64_t bytes = e.memory.peak_by_role[static_cast<size_t>(role)];
    sum += bytes;
    if (bytes > 0) parts.push_back({std::string(name), bytes});
  }
  parts.push_back({"context and libraries", e.memory.context_bytes});
  const int64_t slack = e.memory.device_bytes - e.memory.context_bytes - sum;
  if (slack != 0) parts.push_back({"allocator slack", slack});
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.bytes > b.bytes; });
  return parts;
}

std::string breakdown(const Estimate& e) {
  const std::string at =
      e.memory.peak_node.empty() ? "" : escaped_format(" at {}", shortened(e.memory.peak_node, 60));
  std::string text = escaped_format("\nPeak memory, in {}{}:\n", name(e.memory.peak_phase), at);
  constexpr double kBytesPerMiB = 1048576.0;
  for (const Part& p : parts_of(e)) {
    const double share = percent(p.bytes, e.memory.device_bytes);
    const auto bar = static_cast<size_t>(std::clamp(share * 0.4, 0.0, 40.0));
    text += fmt::format("  {:<32}{:>10.1f} MiB  {:>5.1f} %  {}\n", p.name,
                        static_cast<double>(p.bytes) / kBytesPerMiB, share, std::string(bar, '#'));
  }
  text += fmt::format("  {:<32}{:>10.1f} MiB\n", "total",
                      static_cast<double>(e.memory.device_bytes) / kBytesPerMiB);
  if (e.memory.taken_bytes > 0) {
    text += fmt::format("  needed; the framework takes {} of the card unless told to grow\n",
                        human_bytes(e.memory.taken_bytes));
  }
  return text;
}

// Only where it was asked for: the framework's own part says little.
std::string host(const Estimate& e) {
  const MemoryEstimate& m = e.memory;
  if (!m.host_asked || m.host_bytes == 0) return "";
  return fmt::format("\nHost memory: {}, range {} - {}\n", human_bytes(m.host_bytes),
                     human_bytes(m.host_range.low), human_bytes(m.host_range.high));
}

std::string timing(const Estimate& e) {
  const TimeEstimate& t = e.time;
  std::string text =
      fmt::format("\nStep: forward {}, backward {}, update {}", human_time(t.forward_ns),
                  human_time(t.backward_ns), human_time(t.update_ns));
  if (t.input_copy_ns > 0) text += fmt::format(", input copy {}", human_time(t.input_copy_ns));
  if (t.communication_ns > 0)
    text += fmt::format(", communication {}", human_time(t.communication_ns));
  text += fmt::format("; {} launches, GPU busy {:.0f} %{}\n", t.launches, 100 * t.gpu_busy,
                      t.input_bound  ? ", limited by the input"
                      : t.host_bound ? ", limited by the host"
                                     : "");
  text += escaped_format("Host {}: launches {}, step {}", t.host_id, human_time(t.host_ns),
                         human_time(t.framework_ns));
  if (t.loader != "none") text += fmt::format(", loader {}", human_time(t.loader_ns));
  if (t.input_copy_ns > 0) text += fmt::format(", input copy {}", human_time(t.input_copy_ns));
  text += t.loader == "none" ? "; no loader is counted\n" : "\n";
  for (const LengthTime& l : t.lengths) {
    text += escaped_format("  {:>3.0f} % of batches, {}: {}\n", 100 * l.share,
                           shortened(listed(l.sizes)), human_time(l.step_ns));
  }
  return text;
}

std::string kernel_table(const Estimate& e, size_t most) {
  std::string text = fmt::format("\n{:<46}{:<22}{:>6}{:>10}{:>7}{:>8}  {}\n", "kernel", "algorithm",
                                 "count", "total", "share", "of peak", "bound by");
  for (size_t i = 0; i < e.time.kernels.size() && i < most; ++i) {
    const KernelShare& k = e.time.kernels[i];
    text +=
        escaped_format("{:<46}{:<22}{:>6}{:>10}{:>6.1f}%{:>7.0f}%  {}\n", shortened(k.kernel, 45),
                       shortened(k.algorithm, 21), k.count, human_time(k.total_ns), 100 * k.share,
                       100 * k.fraction_of_peak, k.bound_by);
  }
  return text;
}

// The first `depth` parts of a module path.
std::string fold(const LayerEstimate& l, int64_t depth) {
  if (l.module.empty()) return l.op.empty() ? l.node : "(" + l.op + ")";
  size_t at = 0;
  for (int64_t i = 0; i < depth; ++i) {
    at = l.module.find('.', at);
    if (at == std::string::npos) return l.module;
    ++at;
  }
  return l.module.substr(0, at - 1);
}

std::vector<LayerEstimate> folded(const std::vector<LayerEstimate>& layers, int64_t depth) {
  if (depth <= 0) return layers;
  std::vector<LayerEstimate> out;
  std::map<std::string, size_t> place;
  for (const LayerEstimate& l : layers) {
    const std::string key = fold(l, depth);
    const auto [at, is_new] = place.try_emplace(key, out.size());
    if (is_new) {
      out.push_back(l);
      out.back().node = key;
      out.back().op = "";
      out.back().forward = out.back().backward_data = out.back().backward_weights = {};
      continue;
    }
    LayerEstimate& sum = out[at->second];
    sum.output_shape = l.output_shape;
    sum.parameters += l.parameters;
    sum.weight_bytes += l.weight_bytes;
    sum.gradient_bytes += l.gradient_bytes;
    sum.feature_map_bytes += l.feature_map_bytes;
    sum.workspace_bytes = std::max(sum.workspace_bytes, l.workspace_bytes);
    sum.optimizer_state_bytes += l.optimizer_state_bytes;
    sum.flop_forward += l.flop_forward;
    sum.flop_backward += l.flop_backward;
    sum.forward_ns += l.forward_ns;
    sum.backward_ns += l.backward_ns;
  }
  return out;
}

// "forward WINOGRAD compute 57%, weights WINOGRAD_NONFUSED dram 80%".
std::string limits(const LayerEstimate& l) {
  std::string text;
  for (const auto& [name_of_pass, pass] :
       {std::pair("forward", &l.forward), std::pair("backward", &l.backward_data),
        std::pair("weights", &l.backward_weights)}) {
    if (pass->ns == 0) continue;
    text += escaped_format("{}{} {}{}{} {:.0f}%", text.empty() ? "" : ", ", name_of_pass,
                           shortened(pass->algorithm, 40), pass->algorithm.empty() ? "" : " ",
                           pass->bound_by, 100 * pass->fraction_of_peak);
  }
  return text;
}

std::string layer_table(const Estimate& e, int64_t depth) {
  std::string text = fmt::format(
      "\n{:<36}{:<18}{:>20}{:>11}{:>11}{:>11}{:>11}{:>11}{:>11}{:>10}{:>9}{:>9}  {}\n", "layer",
      "op", "output", "parameters", "weights", "gradients", "maps", "workspace", "optimizer",
      "fwd GFLOP", "forward", "backward", "bound by, share of that peak");
  for (const LayerEstimate& l : folded(e.layers, depth)) {
    text += escaped_format(
        "{:<36}{:<18}{:>20}{:>11}{:>11}{:>11}{:>11}{:>11}{:>11}{:>10.3f}{:>9}{:>9}  {}\n",
        shortened(l.node, 35), shortened(l.op, 17), shortened(l.output_shape, 19), l.parameters,
        human_bytes(l.weight_bytes), human_bytes(l.gradient_bytes),
        human_bytes(l.feature_map_bytes), human_bytes(l.workspace_bytes),
        human_bytes(l.optimizer_state_bytes), static_cast<double>(l.flop_forward) / 1e9,
        human_time(l.forward_ns), human_time(l.backward_ns), limits(l));
  }
  return text;
}

std::string why(const Estimate& e) {
  std::string text = "\nKept for the backward pass:\n";
  for (const KeptTensor& k : e.kept) {
    text += escaped_format("  {:>10}  {}  made by {}, kept by {}\n", human_bytes(k.bytes), k.rule,
                           shortened(k.made_by, 40), shortened(k.node, 40));
  }
  return text;
}

}  // namespace

std::string to_text(const Estimate& e, const TextOptions& options) {
  std::string text = answer(e) + breakdown(e) + host(e) + timing(e);
  if (options.kernels) text += kernel_table(e, 40);
  if (options.layers || options.depth > 0) text += layer_table(e, options.depth);
  if (options.why) text += why(e);
  text += escaped_format("\ngpu: {} ({})\n", e.device_name, e.device_id);
  for (const std::string& basis : e.basis)
    text += escaped_format("basis: {}\n", shortened(basis, 400));
  if (e.memory.verdict != Verdict::kFits)
    text += "next: 'plimsoll max-batch' with these flags: the largest batch that is safe\n";
  return text;
}

std::string to_text(const Diagnostic& d) {
  std::string text;
  if (!d.place.file.empty()) text += escaped_format("{}:", shortened(d.place.file, 400));
  if (d.place.line > 0) text += fmt::format("{}:", d.place.line);
  if (d.place.column > 0) text += fmt::format("{}:", d.place.column);
  if (!text.empty()) text += " ";
  if (!d.place.node.empty()) text += escaped_format("{}: ", d.place.node);
  const std::string_view severity = d.severity == Severity::kError     ? "error"
                                    : d.severity == Severity::kWarning ? "warning"
                                                                       : "note";
  text += escaped_format("{}: {} [{}]\n", severity, d.message, d.code);
  if (!d.help.empty()) text += escaped_format("  help: {}\n", d.help);
  return text;
}

}  // namespace plimsoll
