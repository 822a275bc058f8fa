#include "estimator/app/report/explain.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "estimator/app/report/answer_notes.h"
#include "estimator/app/report/document.h"
#include "estimator/app/report/text.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

std::string human_count(int64_t count, std::string_view unit) {
  const auto value = static_cast<double>(count);
  if (value >= 1e12) return fmt::format("{:.2f} T{}", value / 1e12, unit);
  if (value >= 1e9) return fmt::format("{:.2f} G{}", value / 1e9, unit);
  if (value >= 1e6) return fmt::format("{:.2f} M{}", value / 1e6, unit);
  return fmt::format("{} {}", count, unit);
}

std::string shown(std::string_view text) { return shortened(text, 60); }

std::string tensors_text(std::string_view title, const std::vector<TensorReport>& tensors) {
  std::string text;
  for (const TensorReport& t : tensors) {
    text += escaped_format("  {:<10}{:<10} {}[{}]  {}  {}\n", title, t.kind, t.dtype, t.shape,
                           human_bytes(t.bytes), shown(t.name));
    title = "";
  }
  return text;
}

std::string layer_text(const LayerEstimate& l) {
  std::string text;
  if (l.parameters > 0) {
    text += fmt::format("  parameters {}: weights {}, gradients {}, optimizer state {}\n",
                        l.parameters, human_bytes(l.weight_bytes), human_bytes(l.gradient_bytes),
                        human_bytes(l.optimizer_state_bytes));
  }
  text +=
      fmt::format("  kept for backward {} (what several nodes keep is counted at one of them)\n",
                  human_bytes(l.feature_map_bytes));
  return text;
}

std::string shared_text(const std::vector<WeightSharing>& shared) {
  std::string text;
  for (const WeightSharing& s : shared) {
    std::string parts;
    if (!s.computed_along.empty())
      parts += fmt::format(": each of {} GPUs along {} computes with a part", s.computed_by,
                           s.computed_along);
    if (!s.kept_along.empty()) {
      parts += fmt::format("{} each of {} along {} keeps a part", parts.empty() ? ":" : ", of that",
                           s.kept_by, s.kept_along);
    }
    if (s.gathered) {
      parts += s.unit.empty() ? ", gathered with what is in no block"
                              : ", gathered with unit " + shown(s.unit);
    }
    text += escaped_format("  {}{}\n", shown(s.name), parts);
  }
  return text;
}

std::string kept_text(const NodeReport& n) {
  std::string text;
  for (const KeptTensor& k : n.keeps) {
    text += escaped_format("    {:>10}  {}; made by {}\n", human_bytes(k.bytes), k.rule,
                           shown(k.made_by));
  }
  for (const KeptTensor& k : n.made) {
    text += escaped_format("    {:>10}  its result, counted at {}: {}\n", human_bytes(k.bytes),
                           shown(k.node), k.rule);
  }
  return text;
}

// "compute, 19 % of the f32 peak"; latency has no rate to compare with.
std::string limit_text(const KernelReport& k) {
  const std::string share = fmt::format("{:.0f} %", 100 * k.fraction_of_peak);
  if (k.bound_by == "dram") return fmt::format("memory, {} of its bandwidth", share);
  if (k.bound_by == "compute")
    return fmt::format("compute, {} of the {} peak", share, k.arithmetic);
  return "launch latency";
}

// Where the datasheet's rates let the other one take longer.
std::string_view why_limited(const KernelReport& k) {
  if (k.bound_by == "compute" && k.dram_ns > k.compute_ns)
    return ": at the rates that Plimsoll predicts for this kernel, arithmetic takes longer than "
           "memory traffic, though not at the peak rates";
  if (k.bound_by == "dram" && k.compute_ns > k.dram_ns)
    return ": at the rates that Plimsoll predicts for this kernel, memory traffic takes longer "
           "than "
           "arithmetic, though not at the peak rates";
  return "";
}

std::string workspace_source(std::string_view basis) {
  if (basis == "asked") return ", as cuDNN replied";
  if (basis == "table") return ", from a table of cuDNN's replies";
  if (basis == "rule") return ", by a rule, not measured";
  if (basis == "interval") return ", a guess between two bounds";
  return "";
}

std::string kernel_text(const KernelReport& k, const Page& page) {
  std::string text = escaped_format("  {}: {}{}{}\n", k.phase, k.kernel,
                                    k.launches > 1 ? fmt::format(", {} times", k.launches) : "",
                                    k.algorithm.empty() ? "" : " by " + k.algorithm);
  text += fmt::format("    {}, 90 % range {}-{}\n", human_time(k.ns), human_time(k.range_ns.low),
                      human_time(k.range_ns.high));
  text += wrapped(fmt::format("    limited by {}{}", limit_text(k), why_limited(k)), page, 6);
  const std::string done = k.flop_done == k.flop ? ""
                                                 : fmt::format(", {} by this algorithm,",
                                                               human_count(k.flop_done, "flop"));
  text +=
      wrapped(fmt::format("    compute: {}{} takes {} at the {} peak", human_count(k.flop, "flop"),
                          done, human_time(k.compute_ns), k.arithmetic),
              page, 13);
  const std::string moved = k.bytes_moved == k.bytes ? ""
                                                     : fmt::format(", {} moved by this algorithm,",
                                                                   human_bytes(k.bytes_moved));
  text += wrapped(fmt::format("    memory:  {}{} takes {} at the memory's bandwidth",
                              human_bytes(k.bytes), moved, human_time(k.dram_ns)),
                  page, 13);
  if (k.workspace_bytes > 0 || !k.workspace_basis.empty()) {
    text += fmt::format("    workspace {}{}\n", human_bytes(k.workspace_bytes),
                        workspace_source(k.workspace_basis));
  }
  text += "    how this time is computed (running total):\n";
  constexpr size_t kWhy = 31;  // its column
  for (const TimeLine& line : k.chain) {
    text +=
        wrapped(escaped_format("      {:<13}{:>10}  {}", line.what, human_time(line.ns), line.why),
                page, kWhy);
  }
  if (k.algorithms.size() > 1) text += "    the library's algorithms, computed in the same way:\n";
  for (const AlgorithmReport& a : k.algorithms) {
    if (k.algorithms.size() == 1) break;  // its figures are above
    text += escaped_format("      {:<22}{:>10}, {:>12}, {:>10} moved, workspace {}\n", a.algorithm,
                           human_time(a.ns), human_count(a.flop, "flop"),
                           human_bytes(a.bytes_moved), human_bytes(a.workspace_bytes));
  }
  return text;
}

}  // namespace

std::string to_text(const Explanation& e) {
  return fmt::format("{}: {}\n\n  {}\n\n  What to do: {}\n", e.code, e.title, e.meaning, e.remedy);
}

std::string to_json(const Explanation& e) { return result_text("plimsoll.explanation", e); }

std::string to_text(const Explained& e, const Page& page) {
  std::string text = escaped_format("{}, batch {}, on {} with {:.0f} GB/s\n", shown(e.input.model),
                                    e.input.batch, e.device_id, e.bandwidth / 1e9);
  for (const NodeReport& n : e.nodes) {
    text += escaped_format("\n{}{}\n", n.node,
                           n.layer.module.empty() ? "" : ", module " + shown(n.layer.module));
    text += tensors_text("inputs", n.inputs) + tensors_text("outputs", n.outputs);
    text += shared_text(n.shared) + layer_text(n.layer) + kept_text(n);
    for (const KernelReport& k : n.kernels) text += kernel_text(k, page);
  }
  text += assumed_paragraph(e.notes, page);
  return text + basis_text(e.notes, page);
}

void describe(Fields& f, Explained& e) {
  describe_head(f, "plimsoll.node");
  f.object("input", [&] { describe_question(f, e.input); });
  f.object("result", [&] {
    f.object("device", [&] {
      f("id", e.device_id);
      f("bandwidth", e.bandwidth);
    });
    f("nodes", e.nodes, {.least = 1});
  });
  describe_notes(f, e.notes, {.verb_settings = [&] { f("what", e.what); }});
}

std::string to_json(const Explained& e) {
  return described_text([&](Fields& f) { f.visit(unchanged(e)); });
}

std::string to_text(const FigureGap& gap, const Page& page) {
  const bool of_time = gap.inner->of_time;
  const auto human = [&](int64_t amount) {
    return of_time ? human_time(amount) : human_bytes(amount);
  };
  const auto line = [&](const NamedFigure& figure, int64_t amount) {
    return fmt::format("{:<32}{:>10}  {}\n", figure.name, human(amount), figure.shown_by);
  };
  std::string text = wrapped(escaped_format("{}, batch {}, on {}", shown(gap.input.model),
                                            gap.input.batch, gap.device_id),
                             page) +
                     "\n" + line(*gap.inner, gap.inner_amount);
  constexpr size_t kWhy = 44;  // their column
  for (const FigureStep& step : gap.steps) {
    const std::string amount = (step.amount < 0 ? "-" : "+") + human(std::abs(step.amount));
    text += wrapped(escaped_format("  {:<30}{:>10}  {}", step.name, amount, step.why), page, kWhy);
  }
  return text + line(*gap.outer, gap.outer_amount);
}

namespace {

struct EndFigure {
  NamedFigure figure;
  int64_t amount = 0;
};

void describe(Fields& f, EndFigure& end) {
  f("name", end.figure.name);
  f("shown_by", end.figure.shown_by);
  f("amount", end.amount);
}

}  // namespace

void describe(Fields& f, FigureGap& between) {
  static constexpr std::array<std::string_view, 2> kUnits = {"bytes", "ns"};
  describe_head(f, "plimsoll.figures");
  f.object("input", [&] { describe_question(f, between.input); });
  f.object("result", [&] {
    f.object("device", [&] { f("id", between.device_id); });
    f("unit", kUnits[between.inner && between.inner->of_time ? 1 : 0], {.words = kUnits});
    std::array<EndFigure, 2> ends;
    if (between.inner && between.outer)
      ends = {{{*between.inner, between.inner_amount}, {*between.outer, between.outer_amount}}};
    f("figures", ends, "the inner first; the steps add up to their difference");
    f("steps", between.steps, {.least = 1});
  });
  describe_notes(f, between.notes, {.verb_settings = [&] { f("what", between.what); }});
}

std::string to_json(const FigureGap& between) {
  return described_text([&](Fields& f) { f.visit(unchanged(between)); });
}

}  // namespace plimsoll
