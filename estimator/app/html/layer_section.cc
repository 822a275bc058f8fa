#include <fmt/format.h>

#include <map>

#include "estimator/answer/modules.h"
#include "estimator/app/html/estimate_sections.h"
#include "estimator/app/report/human.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

constexpr size_t kLongestLayer = 60;

// "compute 57 %, memory 80 %": of forward, backward to data and to weights.
std::string limits_text(const LayerEstimate& l) {
  std::string text;
  for (const LayerPass* pass : {&l.forward, &l.backward_data, &l.backward_weights}) {
    if (pass->ns > 0)
      text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", human_bound(pass->bound_by),
                          100 * pass->fraction_of_peak);
  }
  return text;
}

// What layers and modules have in common, in the table's order of columns.
template <class Row>
void add_figures(HtmlTable& table, const Row& row) {
  table.count(row.parameters).bytes(row.weight_bytes).bytes(row.feature_map_bytes);
  table.giga(row.flop_forward).giga(row.flop_backward);
  table.time(row.forward_ns).time(row.backward_ns);
}

void add_layer_row(HtmlTable& table, const LayerEstimate& l, int64_t depth) {
  table.row({{"data-depth", fmt::format("{}", depth)}});
  table.cell(shortened(l.node, kLongestLayer)).cell(shortened(l.op, 24));
  table.cell(shortened(l.output_shape, 40));
  add_figures(table, l);
  table.bytes(l.workspace_bytes);
  table.cell(limits_text(l));
}

void add_module_row(HtmlTable& table, const ModuleEstimate& m) {
  table.row({{"class", "module"}, {"data-depth", fmt::format("{}", m.depth)}});
  table.cell(shortened(m.path, kLongestLayer)).cell(fmt::format("{} layers", m.layers)).cell("");
  add_figures(table, m);
  table.cell("").cell("");
}

// By the innermost module that is listed: of very many the deepest are not.
std::map<std::string, std::vector<const LayerEstimate*>> layers_by_module(const Estimate& e,
                                                                          bool with_layers) {
  std::map<std::string, std::vector<const LayerEstimate*>> layers;
  for (const ModuleEstimate& m : e.modules) layers[m.path];
  if (!with_layers) return layers;
  for (const LayerEstimate& l : e.layers) {
    std::string path = innermost_module(l);
    while (!layers.contains(path) && path.find('.') != std::string::npos)
      path.resize(path.rfind('.'));
    layers[path].push_back(&l);
  }
  return layers;
}

void write_layer_table(Markup& out, const Estimate& e, bool with_layers) {
  const auto layers = layers_by_module(e, with_layers);
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
                   {"limited by"}},
                  {{"class", "sortable layers"}});
  for (const ModuleEstimate& m : e.modules) {
    const auto& own = layers.at(m.path);
    const bool alone = m.layers == 1 && own.size() == 1;  // its sums are the layer's
    if (!alone) add_module_row(table, m);
    for (const LayerEstimate* l : own) add_layer_row(table, *l, alone ? m.depth : m.depth + 1);
  }
  table.end();
}

}  // namespace

void write_layer_section(Markup& out, const Estimate& e, bool with_layers) {
  if (e.layers.empty()) return;
  open_section(out, "layers", "Layers",
               "Modules have the sums of their layers. Limited by, at which share of its peak: the "
               "longest kernels of the forward pass, the input gradient and the weight gradient.");
  if (!with_layers)
    out.element("p",
                fmt::format("{} layers are too many for a page: --json has them.", e.layers.size()),
                {{"class", "notice"}});
  if (!e.modules.empty()) write_layer_table(out, e, with_layers);
  out.close();
}

}  // namespace plimsoll
