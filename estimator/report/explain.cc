#include "estimator/report/explain.h"

#include <fmt/format.h>

#include <cstdlib>

#include "estimator/report/text.h"
#include "estimator/report/version.h"
#include "graph/base/escape.h"
#include "graph/json/writer.h"

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
  text += fmt::format("  kept for backward {}; what several nodes keep counts at the first\n",
                      human_bytes(l.feature_map_bytes));
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

std::string kernel_text(const KernelReport& k) {
  std::string text = escaped_format("  {}: {}{}{}\n", k.phase, k.kernel,
                                    k.launches > 1 ? fmt::format(", {} times", k.launches) : "",
                                    k.algorithm.empty() ? "" : " by " + k.algorithm);
  text += fmt::format("    {} ({} - {}), bound by {}, {:.0f} % of that peak\n", human_time(k.ns),
                      human_time(k.range_ns.low), human_time(k.range_ns.high), k.bound_by,
                      100 * k.fraction_of_peak);
  text += fmt::format("    compute: {}{} takes {} at the {} peak\n", human_count(k.flop, "flop"),
                      k.flop_done == k.flop ? ""
                                            : fmt::format(", {} by this algorithm,",
                                                          human_count(k.flop_done, "flop")),
                      human_time(k.compute_ns), k.arithmetic);
  text +=
      fmt::format("    memory:  {}{} takes {} at the memory's bandwidth\n", human_bytes(k.bytes),
                  k.bytes_moved == k.bytes
                      ? ""
                      : fmt::format(", {} moved by this algorithm,", human_bytes(k.bytes_moved)),
                  human_time(k.dram_ns));
  if (k.workspace_bytes > 0 || !k.workspace_basis.empty()) {
    text += escaped_format("    workspace {}, basis: {}\n", human_bytes(k.workspace_bytes),
                           k.workspace_basis);
  }
  if (!k.algorithms.empty()) text += "    algorithms there are, each by its own model:\n";
  for (const AlgorithmReport& a : k.algorithms) {
    text += escaped_format("      {:<22}{:>10}, {:>12}, {:>10} moved, workspace {}\n", a.algorithm,
                           human_time(a.ns), human_count(a.flop, "flop"),
                           human_bytes(a.bytes_moved), human_bytes(a.workspace_bytes));
  }
  return text + escaped_format("    basis: {}\n", k.time_basis);
}

void write_tensors(JsonWriter& out, std::string_view key,
                   const std::vector<TensorReport>& tensors) {
  out.key(key).objects(tensors, [&](const TensorReport& t) {
    out.key("name").string(t.name);
    out.key("kind").string(t.kind);
    out.key("dtype").string(t.dtype);
    out.key("shape").string(t.shape);
    out.key("bytes").integer(t.bytes);
  });
}

void write_kept(JsonWriter& out, std::string_view key, const std::vector<KeptTensor>& kept) {
  out.key(key).objects(kept, [&](const KeptTensor& k) {
    out.key("node").string(k.node);
    out.key("rule").string(k.rule);
    out.key("made_by").string(k.made_by);
    out.key("bytes").integer(k.bytes);
  });
}

void write_kernel(JsonWriter& out, const KernelReport& k) {
  out.key("kernel").string(k.kernel);
  out.key("phase").string(k.phase);
  out.key("algorithm").string_or_null(k.algorithm);
  out.key("arithmetic").string(k.arithmetic);
  out.key("launches").integer(k.launches);
  out.key("flop").integer(k.flop);
  out.key("flop_done").integer(k.flop_done);
  out.key("bytes").integer(k.bytes);
  out.key("bytes_moved").integer(k.bytes_moved);
  out.key("ns").integer(k.ns);
  out.key("range_ns").begin_array().integer(k.range_ns.low).integer(k.range_ns.high).end_array();
  out.key("compute_ns").integer(k.compute_ns);
  out.key("dram_ns").integer(k.dram_ns);
  out.key("bound_by").string(k.bound_by);
  out.key("fraction_of_peak").real(k.fraction_of_peak);
  out.key("workspace_bytes").integer(k.workspace_bytes);
  out.key("workspace_basis").string_or_null(k.workspace_basis);
  out.key("time_basis").string(k.time_basis);
  out.key("algorithms").objects(k.algorithms, [&](const AlgorithmReport& a) {
    out.key("algorithm").string(a.algorithm);
    out.key("ns").integer(a.ns);
    out.key("flop").integer(a.flop);
    out.key("bytes_moved").integer(a.bytes_moved);
    out.key("workspace_bytes").integer(a.workspace_bytes);
  });
}

void write_input(JsonWriter& out, const InputFacts& input) {
  out.key("input").begin_object();
  out.key("model").string(input.model);
  out.key("batch").integer(input.batch);
  out.key("symbols").begin_object();
  for (const auto& [symbol, value] : input.symbols) out.key(symbol).integer(value);
  out.end_object().end_object();
}

void write_node(JsonWriter& out, const NodeReport& n) {
  out.key("node").string(n.node);
  out.key("op").string(n.layer.op);
  out.key("module").string(n.layer.module);
  out.key("parameters").integer(n.layer.parameters);
  out.key("weight_bytes").integer(n.layer.weight_bytes);
  out.key("gradient_bytes").integer(n.layer.gradient_bytes);
  out.key("optimizer_state_bytes").integer(n.layer.optimizer_state_bytes);
  out.key("feature_map_bytes").integer(n.layer.feature_map_bytes);
  write_tensors(out, "inputs", n.inputs);
  write_tensors(out, "outputs", n.outputs);
  write_kept(out, "keeps", n.keeps);
  write_kept(out, "made", n.made);
  out.key("kernels").objects(n.kernels, [&](const KernelReport& k) { write_kernel(out, k); });
}

}  // namespace

std::string to_text(const Explanation& e) {
  return fmt::format("{}: {}\n\n  {}\n\n  What to do: {}\n", e.code, e.title, e.meaning, e.remedy);
}

std::string to_json(const Explanation& e) {
  JsonWriter out = begin_document("plimsoll.explanation");
  out.key("result").begin_object();
  out.key("code").string(e.code);
  out.key("title").string(e.title);
  out.key("meaning").string(e.meaning);
  out.key("remedy").string(e.remedy);
  out.end_object().end_object();
  return out.take() + "\n";
}

std::string to_text(const Explained& e) {
  std::string text = escaped_format("{}, batch {}, on {} with {:.0f} GB/s\n", shown(e.input.model),
                                    e.input.batch, e.device_id, e.bandwidth / 1e9);
  for (const NodeReport& n : e.nodes) {
    text += escaped_format("\n{}{}\n", n.node,
                           n.layer.module.empty() ? "" : ", module " + shown(n.layer.module));
    text += tensors_text("inputs", n.inputs) + tensors_text("outputs", n.outputs);
    text += layer_text(n.layer) + kept_text(n);
    for (const KernelReport& k : n.kernels) text += kernel_text(k);
  }
  return text;
}

std::string to_json(const Explained& e) {
  JsonWriter out = begin_document("plimsoll.node");
  write_input(out, e.input);
  out.key("result").begin_object();
  out.key("device").begin_object();
  out.key("id").string(e.device_id);
  out.key("bandwidth").real(e.bandwidth).end_object();
  out.key("nodes").objects(e.nodes, [&](const NodeReport& n) { write_node(out, n); });
  out.end_object().end_object();
  return out.take() + "\n";
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

std::string to_json(const FigureGap& gap) {
  JsonWriter out = begin_document("plimsoll.figures");
  write_input(out, gap.input);
  out.key("result").begin_object();
  out.key("device").begin_object().key("id").string(gap.device_id).end_object();
  out.key("unit").string(gap.inner->of_time ? "ns" : "bytes");
  out.key("figures").begin_array();
  for (const auto& [figure, amount] :
       {std::pair(gap.inner, gap.inner_amount), std::pair(gap.outer, gap.outer_amount)}) {
    out.begin_object();
    out.key("name").string(figure->name);
    out.key("shown_by").string(figure->shown_by);
    out.key("amount").integer(amount).end_object();
  }
  out.end_array().key("steps").objects(gap.steps, [&](const FigureStep& step) {
    out.key("name").string(step.name);
    out.key("why").string(step.why);
    out.key("amount").integer(step.amount);
  });
  out.end_object().end_object();
  return out.take() + "\n";
}

}  // namespace plimsoll
