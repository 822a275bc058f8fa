#include "estimator/answer/modules.h"

#include <map>
#include <string>

namespace plimsoll {
namespace {

// Paths come from files: what lies deeper is summed here.
constexpr size_t kDeepest = 12;

// "layer1", "layer1.0" and "layer1.0.conv1" of "layer1.0.conv1".
std::vector<std::string> paths_of(const LayerEstimate& layer) {
  if (layer.module.empty()) return {layer.op.empty() ? layer.node : "(" + layer.op + ")"};
  std::vector<std::string> paths;
  size_t at = 0;
  do {
    at = layer.module.find('.', at + 1);
    paths.push_back(layer.module.substr(0, at));
  } while (at != std::string::npos && paths.size() < kDeepest);
  return paths;
}

void add_layer(const LayerEstimate& layer, ModuleEstimate& sum) {
  ++sum.layers;
  sum.parameters += layer.parameters;
  sum.weight_bytes += layer.weight_bytes;
  sum.feature_map_bytes += layer.feature_map_bytes;
  sum.flop_forward += layer.flop_forward;
  sum.flop_backward += layer.flop_backward;
  sum.forward_ns += layer.forward_ns;
  sum.backward_ns += layer.backward_ns;
}

// A module and those inside it, in the order in which they were found.
struct ModuleTree {
  ModuleEstimate sum;
  std::vector<std::string> inside;
};

void list_modules(const std::map<std::string, ModuleTree>& trees, const std::string& path,
                  std::vector<ModuleEstimate>& out) {
  const ModuleTree& tree = trees.at(path);
  if (!path.empty()) out.push_back(tree.sum);
  for (const std::string& next : tree.inside) list_modules(trees, next, out);
}

}  // namespace

std::string innermost_module(const LayerEstimate& layer) { return paths_of(layer).back(); }

std::vector<ModuleEstimate> modules_of(std::span<const LayerEstimate> layers, size_t most) {
  std::map<std::string, ModuleTree> trees;
  trees[""];
  for (const LayerEstimate& layer : layers) {
    std::string outside;
    int64_t depth = 0;
    for (const std::string& path : paths_of(layer)) {
      const auto [at, is_new] = trees.try_emplace(path);
      if (is_new) {
        at->second.sum.path = path;
        at->second.sum.depth = depth + 1;
        trees[outside].inside.push_back(path);
      }
      add_layer(layer, at->second.sum);
      outside = path;
      ++depth;
    }
  }
  std::vector<ModuleEstimate> modules;
  list_modules(trees, "", modules);
  for (auto depth = static_cast<int64_t>(kDeepest); modules.size() > most; --depth)
    std::erase_if(modules, [&](const ModuleEstimate& m) { return m.depth >= depth; });
  return modules;
}

}  // namespace plimsoll
