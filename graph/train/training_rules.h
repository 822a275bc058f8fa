// Which weights a step trains, as people say it: --freeze 'backbone.*' --train 'backbone.head.*'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/exporter/weight_roles.h"
#include "graph/ir/recipe.h"

namespace plimsoll {

// The paths of all weights, as the model's code calls them: their names; weights that an exporter
// renamed ("onnx::MatMul_123") are called after the layer that reads them, "encoder.fc1.weight",
// and a table that a head shares after the embedding too.
struct WeightPath {
  TensorId weight;
  std::string path;
};
std::vector<WeightPath> weight_paths(const Graph& graph, const std::vector<WeightRole>& kinds);

// Makes the weights that the rules name trained or frozen; the last rule that matches holds.
// E262 where a rule matches no weight: the help has the nearest path.
Result<void> apply_rules(const Graph& graph, const std::vector<TrainingRule>& rules,
                         std::vector<WeightRole>& kinds);

}  // namespace plimsoll
