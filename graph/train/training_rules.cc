#include "graph/train/training_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/base/escape.h"
#include "graph/base/glob.h"
#include "graph/base/setting.h"
#include "graph/exporter/weight_places.h"
#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

// What a layer calls what it reads there; empty where its own names tell more.
std::string_view part_at(const Node& node, size_t input) {
  if (has(node, OpRow::kOverTime)) return {};
  if (input < 2) return "weight";
  return input == 2 ? "bias" : "";
}

size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                             a.begin());
}

std::string remedy(std::string_view glob, const std::vector<WeightPath>& weights) {
  if (weights.empty()) return "the network has no weights";
  std::vector<std::string> paths;
  for (const WeightPath& weight : weights) paths.push_back(weight.path);
  const std::string inside = std::string(glob) + ".*";
  const bool module = std::any_of(paths.begin(), paths.end(),
                                  [&](const std::string& path) { return matches(inside, path); });
  if (module) return fmt::format("a module's weights are '{}'", shortened(inside, 80));
  std::string near = nearest(glob, paths);
  if (near.empty()) {
    near = *std::max_element(paths.begin(), paths.end(), [&](const auto& a, const auto& b) {
      return common_prefix(a, glob) < common_prefix(b, glob);
    });
  }
  return fmt::format("the nearest is '{}'", shortened(near, 80));
}

}  // namespace

std::vector<WeightPath> weight_paths(const Graph& graph, const std::vector<WeightRole>& kinds) {
  std::vector<WeightPath> paths;
  std::vector<char> called(graph.tensors.size(), 0);  // after the first layer that reads it
  for (const Node& node : graph.nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoTensor || !is_weight_place(node, i)) continue;
      const TensorId id = behind_views(graph, node.inputs[i]);
      const Tensor& t = graph.tensors[id];
      const bool weight = t.kind == TensorKind::kParameter && is_weight(kinds[id]);
      const std::string_view part = part_at(node, i);
      if (!weight || called[id] || part.empty() || node.module.empty()) continue;
      if (!has(node, OpRow::kPicksByIndex) && t.origin == Origin::kAuthored) continue;
      called[id] = 1;
      paths.push_back({id, fmt::format("{}.{}", node.module, part)});
    }
  }
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    if (t.kind != TensorKind::kParameter || !is_weight(kinds[id])) continue;
    if (!called[id] || t.origin == Origin::kAuthored) paths.push_back({id, t.name});
  }
  return paths;
}

Result<void> apply_rules(const Graph& graph, const std::vector<TrainingRule>& rules,
                         std::vector<WeightRole>& kinds) {
  if (rules.empty()) return {};
  const std::vector<WeightPath> paths = weight_paths(graph, kinds);
  for (const TrainingRule& rule : rules) {
    bool matched = false;
    for (const auto& [id, path] : paths) {
      if (!matches(rule.glob, path)) continue;
      kinds[id] = rule.trained ? WeightRole::kTrained : WeightRole::kFrozen;
      matched = true;
    }
    if (matched) continue;
    return error("E262",
                 setting(rule.trained ? "train" : "freeze", shortened(rule.glob, 80)) +
                     ": matches no weight of the network",
                 {}, remedy(rule.glob, paths));
  }
  return {};
}

}  // namespace plimsoll
