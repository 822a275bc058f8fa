#include "estimator/app/report/estimate_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "estimator/answer/metrics.h"
#include "estimator/app/report/human.h"
#include "estimator/app/report/spelling.h"

namespace plimsoll {
namespace {

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

// Three columns for each pass, called as the keys of JSON.
constexpr struct {
  std::string_view title, key;
  LayerPass LayerEstimate::*pass;
} kPasses[] = {{"forward", "forward", &LayerEstimate::forward},
               {"input gradient", "backward_data", &LayerEstimate::backward_data},
               {"weight gradient", "backward_weights", &LayerEstimate::backward_weights}};

void add_pass_cells(std::vector<TableCell>& cells, const LayerPass& pass) {
  const bool runs = pass.ns > 0;
  cells.push_back({pass.algorithm});
  cells.push_back(runs ? TableCell{std::string(human_bound(pass.bound_by)), pass.bound_by}
                       : TableCell{});
  cells.push_back(runs ? share_cell(pass.fraction_of_peak) : TableCell{});
}

}  // namespace

Table kernel_table(const Estimate& e) {
  Table table({{"kernel", {}, Column::kName},
               {"algorithm", {}, Column::kName, 2},
               {"count"},
               {"total", "total_ns"},
               {"share"},
               {"of peak", "fraction_of_peak", Column::kFigure, 3},
               {"limited by", "bound_by", Column::kRemark, 1}});
  for (const KernelShare& k : e.time.kernels) {
    table.add({{k.kernel},
               {k.algorithm},
               count_cell(k.count),
               time_cell(k.total_ns),
               {fmt::format("{:.1f} %", 100 * k.share), fmt::format("{:.5f}", k.share)},
               share_cell(k.fraction_of_peak),
               {std::string(human_bound(k.bound_by)), k.bound_by}});
  }
  return table;
}

namespace {

std::string figure_of(const Metric& m) {
  if (!m.value) return "not known";
  if (m.unit == "of 1") return fmt::format("{:.1f} %", 100 * *m.value);
  if (m.unit == "B") return human_bytes(static_cast<int64_t>(*m.value));
  if (m.unit == "B/s") return human_bytes(std::llround(*m.value)) + "/s";
  return fmt::format("{} {}", human_number(*m.value), m.unit);
}

Table rates_table(const Metrics& metrics) {
  Table table({{"metric", {}, Column::kName}, {"value"}});
  for (const Metric& m : metrics.rates) table.add({{std::string(m.name)}, {figure_of(m)}});
  return table;
}

Table category_table(const Metrics& metrics) {
  Table table(
      {{"live tensors", {}, Column::kName}, {"at the peak"}, {"maximum"}, {"share of sum"}});
  for (const MemoryCategory& c : metrics.memory) {
    table.add({{std::string(c.name)},
               bytes_cell(c.bytes),
               bytes_cell(c.maximum_bytes),
               {fmt::format("{:.1f} %", 100 * c.share)}});
  }
  return table;
}

Table class_table(const Estimate& e) {
  Table table({{"kernels", {}, Column::kName},
               {"count"},
               {"total"},
               {"share"},
               {"FP32", {}, Column::kFigure, 1},
               {"the library's", {}, Column::kRemark, 2}});
  for (const ClassShare& c : e.time.by_class) {
    table.add({{c.kernel_class},
               count_cell(c.count),
               time_cell(c.ns),
               {fmt::format("{:.1f} %", 100 * c.share)},
               {fmt::format("{:.1f} %", 100 * c.fp32_utilisation)},
               {std::string(c.library_kernel)}});
  }
  return table;
}

}  // namespace

std::string metrics_text(const Estimate& e, const Page& page) {
  const Metrics metrics = metrics_of(e);
  std::string text = "\n" + rates_table(metrics).text(page) + "\n" +
                     category_table(metrics).text(page) + "\n" +
                     (e.on_host ? "" : class_table(e).text(page) + "\n");
  for (const Metric& m : metrics.rates) {
    text += wrapped(fmt::format("{}: {}{}", m.name, m.definition,
                                m.value ? "" : ". Not known: " + spelled(m.unknown)),
                    page, 2);
  }
  for (const MemoryCategory& c : metrics.memory)
    text += wrapped(fmt::format("{}: {}", c.name, c.definition), page, 2);
  return text;
}

Table layer_table(const Estimate& e, int64_t depth) {
  std::vector<Column> columns = {
      {"layer", {}, Column::kName},
      {"op", {}, Column::kName, 4},
      {"output", "output_shape", Column::kName, 5},
      {"parameters", {}, Column::kFigure, 3},
      {"weights", "weight_bytes", Column::kFigure, 7},
      {"gradients", "gradient_bytes", Column::kFigure, 8},
      {"feature maps", "feature_map_bytes"},
      {"workspace", "workspace_bytes", Column::kFigure, 6},
      {"optimizer", "optimizer_state_bytes", Column::kFigure, 8},
      {"GFLOP", "flop_forward", Column::kFigure, 2},
      {"forward", "forward_ns"},
      {"backward", "backward_ns"},
  };
  for (const auto& [title, key, pass] : kPasses) {
    columns.push_back(
        {fmt::format("{} algorithm", title), fmt::format("{}_algorithm", key), Column::kRemark, 9});
    columns.push_back({"limited by", fmt::format("{}_bound_by", key), Column::kRemark, 9});
    columns.push_back({"of peak", fmt::format("{}_fraction_of_peak", key), Column::kFigure, 9});
  }
  Table table(columns);
  const auto on_card = [&](TableCell cell) { return e.on_host ? TableCell{} : std::move(cell); };
  for (const LayerEstimate& l : folded(e.layers, depth)) {
    std::vector<TableCell> cells = {
        {l.node},
        {l.op},
        {l.output_shape},
        count_cell(l.parameters),
        bytes_cell(l.weight_bytes),
        bytes_cell(l.gradient_bytes),
        bytes_cell(l.feature_map_bytes),
        on_card(bytes_cell(l.workspace_bytes)),
        bytes_cell(l.optimizer_state_bytes),
        {fmt::format("{:.3f}", static_cast<double>(l.flop_forward) / 1e9),
         std::to_string(l.flop_forward)},
        on_card(time_cell(l.forward_ns)),
        on_card(time_cell(l.backward_ns))};
    for (const auto& [title, key, pass] : kPasses) add_pass_cells(cells, l.*pass);
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace plimsoll
