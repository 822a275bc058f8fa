#include "estimator/app/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "estimator/answer/memory_part.h"
#include "estimator/app/report/advice.h"
#include "estimator/app/report/answer_notes.h"
#include "estimator/app/report/estimate_tables.h"
#include "estimator/app/report/headline.h"
#include "estimator/app/report/spelling.h"
#include "estimator/memory/confidence.h"
#include "estimator/request/lengths.h"
#include "graph/base/escape.h"
#include "hwdb/host.h"

namespace plimsoll {

namespace {

// Two parts of a line, the second on a line of its own where the page is too narrow for both.
std::string in_columns(const std::string& first, const std::string& second, const Page& page) {
  constexpr size_t kSecond = 68;
  const size_t columns = columns_of(second);
  const size_t at = std::max(columns_of(first) + 2,
                             std::min(kSecond, page.width - std::min(page.width, columns)));
  if (at + columns <= page.width)
    return first + std::string(at - columns_of(first), ' ') + second + "\n";
  return first + "\n       " + second + "\n";
}

// "90 % range 29.7-65.1 ms": a unit that both ends have is written once.
std::string range_text(double confidence, std::string low, const std::string& high) {
  const std::string unit = high.substr(high.rfind(' '));
  if (low.ends_with(unit)) low.resize(low.size() - unit.size());
  return fmt::format("{:.0f} % range {}-{}", 100 * confidence, low, high);
}

std::string memory_range(const Range& range) {
  return range_text(kUsualConfidence, human_bytes(range.low), human_bytes(range.high));
}

std::string time_range(const Range& range) {
  constexpr double kConfidence = 0.9;  // see StepTime's low and high
  return range_text(kConfidence, human_time(range.low), human_time(range.high));
}

std::string_view not_counted(const TimeEstimate& t) {
  if (t.loader == name(LoaderKind::kNone)) return ", without data loading";
  return t.loader == name(LoaderKind::kFiles) ? ", without the time to read files" : "";
}

// Of all steps: an epoch, or the whole run.
std::string length(const TimeEstimate& t) {
  if (!t.epoch_ns || !t.epoch_samples) return "";
  const std::string samples = fmt::format("{} samples", *t.epoch_samples);
  return t.run_ns ? fmt::format("       whole run {}{}; an epoch has {}\n", human_time(*t.run_ns),
                                not_counted(t), samples)
                  : fmt::format("       epoch of {}: {}{}\n", samples, human_time(*t.epoch_ns),
                                not_counted(t));
}

// Of a run on the host where the host's memory, or all that the process takes, is not known.
std::string answer_unjudged(const Estimate& e, const Page& page) {
  return in_columns(fmt::format("NOT JUDGED   peak {} of tensors and process",
                                human_bytes(e.memory.device_bytes)),
                    memory_range(e.memory.device_range), page);
}

std::string answer(const Estimate& e, const Page& page) {
  if (!e.judged()) return answer_unjudged(e, page);
  const int64_t peak = e.memory.device_bytes;
  const int64_t room = e.usable_bytes - peak;
  const std::string_view word = headline(e.memory.verdict);
  const std::string_view compared = room >= 0                              ? "free"
                                    : e.memory.verdict == Verdict::kMayFit ? "above it"
                                                                           : "too much";
  const std::string memory = fmt::format(
      "   peak {} of {} ({:.0f} %), {} {}", human_bytes(peak), human_bytes(e.usable_bytes),
      100 * share_of(peak, e.usable_bytes), human_bytes(std::abs(room)), compared);
  std::string text =
      in_columns(std::string(word) + memory, memory_range(e.memory.device_range), page);
  text.replace(0, word.size(), toned(word, tone_of(e.memory.verdict), page));
  if (e.on_host) return text;
  const std::string pace =
      escaped_format("       step {}, {} {}/s", human_time(e.time.step_ns),
                     human_number(e.time.samples_per_second), e.time.sample_unit);
  return text + in_columns(pace, time_range(e.time.step_range_ns), page) + length(e.time);
}

std::string breakdown(const Estimate& e, const Page& page) {
  const std::string at =
      e.memory.peak_node.empty() ? "" : " at " + shortened(e.memory.peak_node, kQuotedColumns);
  std::string text =
      "\n" + wrapped(escaped_format("Peak memory, in {}{}:", peak_moment(e.memory), at), page);
  constexpr double kBytesPerMiB = 1048576.0;
  constexpr size_t kBefore = 59;  // columns before the bars
  const double longest =
      static_cast<double>(std::clamp(page.width, kBefore, kBefore + 40) - kBefore);
  constexpr double kLeastShown = 0.05;  // less is "0.0 MiB"
  for (const MemoryPart& p : memory_parts(e)) {
    if (std::abs(static_cast<double>(p.bytes)) < kLeastShown * kBytesPerMiB) continue;
    const double share = share_of(p.bytes, e.memory.device_bytes);
    const auto bar = static_cast<size_t>(std::clamp(share, 0.0, 1.0) * longest);
    text += fmt::format("  {:<32}{:>10.1f} MiB  {:>5.1f} %{}{}\n", p.name,
                        static_cast<double>(p.bytes) / kBytesPerMiB, 100 * share,
                        bar > 0 ? "  " : "", std::string(bar, '#'));
  }
  text += fmt::format("  {:<32}{:>10.1f} MiB\n", "total",
                      static_cast<double>(e.memory.device_bytes) / kBytesPerMiB);
  if (e.memory.taken_bytes > 0) {
    text += fmt::format("  needed; the framework reserves {} of the GPU",
                        human_bytes(e.memory.taken_bytes));
    if (e.memory.grown)
      text += fmt::format(", {} in growth mode", human_bytes(e.memory.grown->bytes));
    text += "\n";
  } else if (e.memory.grown && e.memory.grown->bytes > e.memory.device_bytes) {
    text += fmt::format("  needed; if there is room the process uses {}\n",
                        human_bytes(e.memory.grown->bytes));
  }
  // Few are there yet where feature maps are most, which looks as if they were forgotten.
  constexpr auto kGradients = static_cast<size_t>(Role::kGradient);
  if (const int64_t most = e.memory.max_by_role[kGradients];
      human_bytes(most) != human_bytes(e.memory.peak_by_role[kGradients]))
    text += fmt::format("  gradients: up to {} at another moment of the step\n", human_bytes(most));
  if (const auto& m = e.memory.evaluation)
    text += fmt::format("  tensors: up to {} in evaluation (batch {}), up to {} in a step\n",
                        human_bytes(m->allocated_peak_bytes), m->batch,
                        human_bytes(m->step_allocated_peak_bytes));
  if (e.memory.in_loading())
    text += fmt::format("  tensors: up to {} while weights are loaded, up to {} in a step\n",
                        human_bytes(e.memory.loading->allocated_peak_bytes),
                        human_bytes(e.memory.loading->step_allocated_peak_bytes)) +
            "  loading needs the same memory at any batch\n";
  return text;
}

// The process only where that is requested: the framework's own part says little.
std::string host(const Estimate& e) {
  const MemoryEstimate& m = e.memory;
  if (e.on_host) return "";
  std::string text;
  if (m.offloaded_bytes > 0)
    text += fmt::format("\nOffloaded to host memory: {} for each GPU\n",
                        human_bytes(m.offloaded_bytes));
  if (m.host_asked && m.host_bytes > 0)
    text += fmt::format("\nHost memory: {}, {}\n", human_bytes(m.host_bytes),
                        memory_range(m.host_range));
  return text;
}

std::string timing(const Estimate& e, const Page& page) {
  if (e.on_host) return "";
  const TimeEstimate& t = e.time;
  std::string step = fmt::format("Step: forward {}", human_time(t.forward_ns));
  constexpr int64_t kLeastNs = 1000;  // what takes less is not worth a reader's time
  const auto part = [&](std::string_view what, int64_t ns) {
    if (ns >= kLeastNs) step += fmt::format(", {} {}", what, human_time(ns));
  };
  part("backward", t.backward_ns);
  part("update", t.update_ns);
  part("input copy", t.input_copy_ns);
  part("communication", t.communication_ns);
  part("waiting for the host", t.host_wait_ns);
  part("waiting for other stages", t.bubble_ns);
  step += fmt::format(". Kernels run {:.0f} % of the step ({} launches).{}", 100 * t.gpu_busy,
                      t.launches,
                      t.input_bound  ? " The input limits the speed."
                      : t.host_bound ? " The host limits the speed."
                                     : "");
  const std::string_view unknown = t.host_id == kUnknownHost ? "; --host ID selects another" : "";
  std::string host = escaped_format("Host ({}{}): kernel launches {}, other work {}", t.host_id,
                                    unknown, human_time(t.host_ns), human_time(t.framework_ns));
  if (t.loader == name(LoaderKind::kFiles)) {
    host += ". The time to read files is unknown and widens the range only.";
  } else if (t.loader == name(LoaderKind::kNone)) {
    host += ". Data loading is not included.";
  } else {
    host += fmt::format(", loader {}", human_time(t.loader_ns));
  }
  std::string text = "\n" + wrapped(step, page, 6) + wrapped(host, page, 6);
  for (const LengthTime& l : t.lengths) {
    text += escaped_format("  {:>3.0f} % of batches, {}: {}\n", 100 * l.share,
                           shortened(listed(l.sizes), kQuotedColumns), human_time(l.step_ns));
  }
  return text;
}

Table kept_table(const Estimate& e) {
  Table table({{"kept"},
               {"made by", {}, Column::kName},
               {"kept by", {}, Column::kName},
               {"because", {}, Column::kName}});
  for (const KeptTensor& k : e.kept)
    table.add({bytes_cell(k.bytes), {k.made_by}, {k.node}, {k.rule}});
  return table;
}

std::string help(const Estimate& e, const Page& page) {
  if (e.memory.verdict == Verdict::kFits || e.on_host) return "";
  if (e.remedies.empty())
    return "\n" + wrapped(
                      "No change helps: batch, precision, checkpointing, optimizer and their "
                      "combinations were tried.",
                      page);
  return "\n" + remedy_table(e.remedies).text(page, 2);
}

std::string serving(const Estimate& e, const Page& page) {
  if (!e.serve) return "";
  const ServeEstimate& s = *e.serve;
  const std::string blocks =
      s.block_tokens > 1
          ? fmt::format(" in {} blocks of {}, as {} divides it. Its CUDA graphs are not counted",
                        s.tokens_that_fit / s.block_tokens, s.block_tokens, s.engine)
          : "";
  return wrapped(
      fmt::format("Serving: the KV cache takes {} per token and has room for {} tokens{}. "
                  "Prefill takes {}, the next token of all sequences {}.",
                  human_bytes(s.kv_bytes_per_token), s.tokens_that_fit, blocks,
                  human_time(s.prefill_ns), human_time(s.decode_ns)),
      page);
}

}  // namespace

std::string to_text(const Estimate& e, const TextOptions& options) {
  const Page& page = options.page;
  std::string text = answer(e, page);
  if (options.quiet) return text;
  text += help(e, page) + breakdown(e, page) + host(e) + timing(e, page) + serving(e, page);
  if (options.metrics) text += metrics_text(e, page);
  if (options.kernels) text += "\n" + kernel_table(e).text(page);
  if (options.layers || options.depth > 0) text += "\n" + layer_table(e, options.depth).text(page);
  if (options.why) text += "\nKept for the backward pass:\n" + kept_table(e).text(page, 2);
  text += escaped_format("\ngpu: {} ({})\n", e.device_name, e.device_id) + assumed_text(e, page);
  return options.basis ? text + basis_text(e, page) : text;
}

std::string to_text(const Diagnostic& diagnostic) {
  const Diagnostic d = spelled(diagnostic);
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
