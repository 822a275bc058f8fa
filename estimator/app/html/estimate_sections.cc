#include "estimator/app/html/estimate_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "estimator/answer/memory_part.h"
#include "estimator/app/report/headline.h"
#include "estimator/app/report/human.h"
#include "estimator/app/report/spelling.h"
#include "estimator/app/report/text.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

constexpr size_t kLongestName = 80;
constexpr size_t kMostKernels = 200;

double share_of_whole(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<int64_t>(1, whole));
}

std::string range_text(const Range& range, std::string (*human)(int64_t)) {
  return fmt::format("range {} to {}", human(range.low), human(range.high));
}

void add_facts(Markup& out, const Estimate& e) {
  const MemoryEstimate& m = e.memory;
  const int64_t room = e.usable_bytes - m.device_bytes;
  out.open("dl", {{"class", "facts"}});
  write_fact(out, "peak memory", human_bytes(m.device_bytes),
             range_text(m.device_range, human_bytes));
  write_fact(out, room >= 0 ? "free" : "too much", human_bytes(std::abs(room)),
             fmt::format("of {} that may be used", human_bytes(e.usable_bytes)));
  write_fact(out, "step", human_time(e.time.step_ns), range_text(e.time.step_range_ns, human_time));
  const double pace = e.time.samples_per_second;
  write_fact(out, "throughput",
             fmt::format("{:.{}f} {}/s", pace, pace < 100 ? 2 : 0, e.time.sample_unit),
             e.time.run_ns ? "whole run " + human_time(*e.time.run_ns)
                           : fmt::format("kernels run {:.0f} % of a step", 100 * e.time.gpu_busy));
  out.close();
}

// The moments of the memory curve, a column for each role that it has.
void add_curve_table(Markup& out, const Estimate& e) {
  std::vector<Role> roles;
  for (int r = 0; r < kRoleCount; ++r) {
    const auto has = [&](const MemoryMoment& m) { return m.live[static_cast<size_t>(r)] > 0; };
    if (std::ranges::any_of(e.memory_curve, has)) roles.push_back(static_cast<Role>(r));
  }
  std::vector<HtmlColumn> columns = {{"phase"}, {"node"}, {"launch", true}, {"GPU time", true}};
  for (const Role role : roles) columns.push_back({name(role), true});
  out.open("details").element("summary", "the figures of this chart");
  HtmlTable table(out, "Live bytes by role over one step, context not counted", columns);
  for (const MemoryMoment& m : e.memory_curve) {
    table.row().cell(name(m.phase)).cell(shortened(m.node, kLongestName));
    table.count(m.launch);
    table.time(m.at_ns);
    for (const Role role : roles) table.bytes(m.live[static_cast<size_t>(role)]);
  }
  table.end();
  out.close();
}

void add_peak_parts(Markup& out, const Estimate& e) {
  HtmlTable table(out, "Device memory at the peak",
                  {{"part"}, {"size", true}, {"bytes", true}, {"share", true}});
  for (const MemoryPart& p : memory_parts(e)) {
    table.row().swatch(p.id, p.name);
    table.bytes(p.bytes);
    table.count(p.bytes);
    table.percent(share_of_whole(p.bytes, e.memory.device_bytes));
  }
  table.row().cell("total");
  table.bytes(e.memory.device_bytes);
  table.count(e.memory.device_bytes);
  table.percent(1);
  table.end();
}

void add_peak_tensors(Markup& out, const Estimate& e) {
  if (e.peak_tensors.empty()) return;
  HtmlTable table(out, "The largest tensors alive at the peak",
                  {{"made by"}, {"role"}, {"size", true}, {"freed"}}, {{"class", "sortable"}});
  for (const PeakTensor& t : e.peak_tensors) {
    table.row()
        .cell(t.made_by.empty() ? "-" : shortened(t.made_by, kLongestName))
        .cell(name(t.role));
    table.bytes(t.bytes);
    table.cell(t.resident           ? std::string("lives on")
               : t.freed_by.empty() ? std::string(name(t.freed_in))
                                    : fmt::format("{} of {}", name(t.freed_in),
                                                  shortened(t.freed_by, kLongestName)));
  }
  table.end();
}

void add_step_parts(Markup& out, const Estimate& e) {
  const TimeEstimate& t = e.time;
  HtmlTable table(out, "The step, by phase and by who takes the time", {{"part"}, {"time", true}});
  const auto part = [&](std::string_view what, int64_t ns) {
    if (ns == 0) return;
    table.row().cell(what);
    table.time(ns);
  };
  part("forward", t.forward_ns);
  part("backward", t.backward_ns);
  part("update", t.update_ns);
  part("communication", t.communication_ns);
  part("waiting for the host", t.host_wait_ns);
  part("other stages", t.bubble_ns);
  part("input copy", t.input_copy_ns);
  part("GPU's work", t.gpu_ns);
  part("host: launches", t.host_ns);
  part("host: framework", t.framework_ns);
  part("host: loader", t.loader_ns);
  part("step", t.step_ns);
  table.end();
}

void add_kernels(Markup& out, const Estimate& e) {
  HtmlTable table(out, "Distinct kernels, by their share of the GPU's time",
                  {{"kernel"},
                   {"algorithm"},
                   {"count", true},
                   {"total", true},
                   {"share", true},
                   {"of its peak", true},
                   {"FLOP/byte", true},
                   {"GFLOP/s", true},
                   {"limited by"}},
                  {{"class", "sortable"}});
  for (size_t i = 0; i < e.time.kernels.size() && i < kMostKernels; ++i) {
    const KernelShare& k = e.time.kernels[i];
    table.row().cell(shortened(k.kernel, kLongestName)).cell(shortened(k.algorithm, 40));
    table.count(k.count);
    table.time(k.total_ns);
    table.percent(k.share);
    table.percent(k.fraction_of_peak);
    table.cell(fmt::format("{:.1f}", k.flop_per_byte), k.flop_per_byte);
    table.cell(fmt::format("{:.0f}", k.flop_per_second / 1e9), k.flop_per_second);
    table.cell(human_bound(k.bound_by));
  }
  table.end();
  if (e.time.kernels.size() > kMostKernels)
    out.element("p", fmt::format("{} kernels of less time are in the JSON.",
                                 e.time.kernels.size() - kMostKernels));
}

}  // namespace

void write_fact(Markup& out, std::string_view term, std::string_view value, std::string_view more) {
  out.open("div").element("dt", term).open("dd").text(value).element("span", more).close().close();
}

void open_section(Markup& out, std::string_view id, std::string_view title,
                  std::string_view about) {
  out.open("section", {{"id", id}}).element("h2", title);
  if (!about.empty()) out.element("p", about);
}

void write_chart(Markup& out, std::string_view chart, std::string_view variants,
                 std::string_view of) {
  out.open("div", {{"class", "chart"},
                   {"id", fmt::format("chart-{}{}{}", chart, of.empty() ? "" : "-", of)},
                   {"data-chart", chart},
                   {"data-variants", variants},
                   {"data-of", of}});
  out.close();
}

void write_answer(Markup& out, const Estimate& e) {
  out.open("header", {{"class", "answer"}});
  out.element("p", fmt::format("{}, batch {}, on {}", shortened(e.input.model, kLongestName),
                               e.input.batch, e.device_name));
  out.open("h1").element("span", headline(e.memory.verdict),
                         {{"class", fmt::format("verdict {}", name(e.memory.verdict))}});
  out.text(fmt::format("{} of {}, {} a step", human_bytes(e.memory.device_bytes),
                       human_bytes(e.usable_bytes), human_time(e.time.step_ns)));
  out.close();
  add_facts(out, e);
  out.close();
}

void write_memory_sections(Markup& out, const Estimate& e) {
  const std::string at = e.memory.peak_node.empty()
                             ? peak_moment(e.memory)
                             : fmt::format("{} at {}", peak_moment(e.memory),
                                           shortened(e.memory.peak_node, kLongestName));
  if (!e.memory_curve.empty()) {
    open_section(out, "memory", "Memory over one step", "");
    write_chart(out, "memory", "launch time");
    add_curve_table(out, e);
    out.close();
  }
  open_section(out, "peak", "What fills the peak", fmt::format("Live tensors peak in {}.", at));
  write_chart(out, "parts");
  add_peak_parts(out, e);
  add_peak_tensors(out, e);
  out.close();
  if (e.modules.empty()) return;
  open_section(out, "module-memory", "Memory by module",
               "Weights, and feature maps kept for backward. The figures of all modules are in the "
               "table of layers.");
  write_chart(out, "module_memory");
  out.close();
}

void write_remedies_section(Markup& out, const Estimate& e) {
  if (e.remedies.empty()) return;
  open_section(out, "remedies", "What would help",
               "Changes that fit come first, the fastest of them first.");
  write_chart(out, "remedies");
  HtmlTable table(out, "Changes",
                  {{"options"}, {"effect"}, {"verdict"}, {"peak", true}, {"step", true}},
                  {{"class", "sortable"}});
  for (const Remedy& r : e.remedies) {
    table.row().cell(spelled(r.settings)).cell(r.effect).cell(headline(r.verdict));
    table.bytes(r.device_bytes).time(r.step_ns);
  }
  table.end();
  out.close();
}

void write_time_sections(Markup& out, const Estimate& e) {
  open_section(out, "time", "Where the time goes",
               fmt::format("Kernels run {:.0f} % of a step.{}", 100 * e.time.gpu_busy,
                           e.time.host_bound ? " The host launches kernels more slowly than the "
                                               "GPU runs them."
                                             : ""));
  if (!e.modules.empty()) {
    write_chart(out, "modules");
    out.element("p", "The figures of all modules are in the table of layers.");
  }
  add_step_parts(out, e);
  out.close();
  write_lane_section(out, e.time.lanes);
  if (e.time.kernels.empty()) return;
  open_section(out, "roofline", "Roofline",
               e.peak_flops && e.bandwidth_bytes_per_second
                   ? fmt::format("Peak {:.1f} TFLOP/s, memory {:.0f} GB/s.", *e.peak_flops / 1e12,
                                 *e.bandwidth_bytes_per_second / 1e9)
                   : std::string("The device's peaks are not known."));
  write_chart(out, "roofline");
  add_kernels(out, e);
  out.close();
}

void write_notes(Markup& out, const AnswerNotes& notes,
                 const std::vector<std::string>& recognised) {
  const auto listed = [&](std::string_view title, const auto& lines, const auto& text) {
    if (lines.empty()) return;
    out.element("h3", title).open("ul");
    for (const auto& line : lines) out.element("li", text(line));
    out.close();
  };
  listed("Assumed", notes.assumed, [](const Assumption& a) {
    return fmt::format("{}. {} changes it.", shortened(a.text, kLongestName), spelled(a.change));
  });
  listed("Warnings and notes", notes.diagnostics, [](const Diagnostic& d) {
    std::string text = to_text(d);  // a line or two
    std::ranges::replace(text, '\n', ' ');
    return text;
  });
  listed("Basis: defaults in use, and where figures come from", notes.basis,
         [](const std::string& text) { return shortened(spelled(text), 400); });
  listed("Recognised in the graph", recognised,
         [](const std::string& text) { return shortened(text, 400); });
}

}  // namespace plimsoll
