#include <fmt/format.h>

#include <map>

#include "estimator/answer/modules.h"
#include "estimator/report/html/estimate_sections.h"
#include "estimator/report/text.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

constexpr size_t kLongestLayer = 60;

// "compute 57%, dram 80%": of forward, backward to data and to weights.
std::string limits_text(const LayerEstimate& l) {
  std::string text;
  for (const LayerPass* pass : {&l.forward, &l.backward_data, &l.backward_weights}) {
    if (pass->ns > 0)
      text += fmt::format("{}{} {:.0f}%", text.empty() ? "" : ", ", pass->bound_by,
                          100 * pass->fraction_of_peak);
  }
  return text;
}

// What layers and modules have in common, in the table's order of columns.
template <class Row>
void add_figures(HtmlTable& table, const Row& row) {
  table.cell(fmt::format("{}", row.parameters), static_cast<double>(row.parameters));
  for (const int64_t bytes : {row.weight_bytes, row.feature_map_bytes})
    table.cell(human_bytes(bytes), static_cast<double>(bytes));
  for (const int64_t flop : {row.flop_forward, row.flop_backward})
    table.cell(fmt::format("{:.3f}", static_cast<double>(flop) / 1e9), static_cast<double>(flop));
  for (const int64_t ns : {row.forward_ns, row.backward_ns})
    table.cell(human_time(ns), static_cast<double>(ns));
}

void add_layer_row(HtmlTable& table, const LayerEstimate& l, int64_t depth) {
  table.row(
      {{"data-depth", fmt::format("{}", depth)}, {"style", fmt::format("--depth: {}", depth)}});
  table.cell(shortened(l.node, kLongestLayer)).cell(shortened(l.op, 24));
  table.cell(shortened(l.output_shape, 40));
  add_figures(table, l);
  table.cell(human_bytes(l.workspace_bytes), static_cast<double>(l.workspace_bytes));
  table.cell(limits_text(l));
}

void add_module_row(HtmlTable& table, const ModuleEstimate& m) {
  table.row({{"class", "module"},
             {"data-depth", fmt::format("{}", m.depth)},
             {"style", fmt::format("--depth: {}", m.depth)}});
  table.cell(shortened(m.path, kLongestLayer)).cell(fmt::format("{} layers", m.layers)).cell("");
  add_figures(table, m);
  table.cell("").cell("");
}

}  // namespace

void write_layer_section(Markup& out, const Estimate& e) {
  if (e.modules.empty()) return;
  std::map<std::string, std::vector<const LayerEstimate*>> layers;
  for (const LayerEstimate& l : e.layers) layers[innermost_module(l)].push_back(&l);
  open_section(out, "layers", "Layers",
               "Modules hold the sums of their layers. Bound by, and share of that peak: of the "
               "longest kernels of forward, backward to data and backward to weights.");
  HtmlTable table(out, "Layers in their modules",
                  {{"layer"},
                   {"operator"},
                   {"output"},
                   {"parameters", true},
                   {"weights", true},
                   {"feature maps", true},
                   {"forward GFLOP", true},
                   {"backward GFLOP", true},
                   {"forward", true},
                   {"backward", true},
                   {"workspace", true},
                   {"bound by"}},
                  {{"class", "sortable layers"}});
  for (const ModuleEstimate& m : e.modules) {
    const auto& own = layers[m.path];
    const bool alone = m.layers == 1 && own.size() == 1;  // its sums are the layer's
    if (!alone) add_module_row(table, m);
    for (const LayerEstimate* l : own) add_layer_row(table, *l, alone ? m.depth : m.depth + 1);
  }
  table.end();
  out.close();
}

}  // namespace plimsoll
