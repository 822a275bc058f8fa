// The explicit list of families. A family file defines its table and is named here.
#include "graph/config/layer_type.h"

#include <algorithm>

namespace plimsoll::config {
namespace {

std::vector<const LayerType*> gather_rows() {
  std::vector<const LayerType*> rows;
  for (const auto family :
       {convolution_layers(), pooling_layers(), norm_layers(), dense_layers(), attention_layers(),
        state_space_layers(), expert_layers(), rotary_layers(), pointwise_layers(),
        movement_layers(), structure_layers(), onnx_layers()}) {
    for (const LayerType& row : family) rows.push_back(&row);
  }
  std::sort(rows.begin(), rows.end(),
            [](const auto* a, const auto* b) { return a->name < b->name; });
  return rows;
}

const std::vector<const LayerType*>& rows() {
  static const std::vector<const LayerType*> kRows = gather_rows();
  return kRows;
}

}  // namespace

std::span<const LayerType* const> all_layer_types() { return rows(); }

const LayerType* find_layer_type(std::string_view name) {
  const auto found =
      std::lower_bound(rows().begin(), rows().end(), name,
                       [](const LayerType* row, std::string_view key) { return row->name < key; });
  return found != rows().end() && (*found)->name == name ? *found : nullptr;
}

}  // namespace plimsoll::config
