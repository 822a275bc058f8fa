#include "graph/train/repeated_modules.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/ir/module_path.h"

namespace plimsoll {
namespace {

// The path up to its first number at or behind `from`: "layer1.0" of "layer1.0.conv1". Empty where
// there is none.
std::string_view numbered_prefix(std::string_view path, size_t from) {
  while (from < path.size()) {
    const size_t end = std::min(path.find('.', from), path.size());
    if (is_number(path.substr(from, end - from))) return path.substr(0, end);
    from = end + 1;
  }
  return {};
}

bool is_inside(std::string_view path, std::string_view outer) {
  return outer.empty() || path == outer ||
         (path.starts_with(outer) && path.size() > outer.size() && path[outer.size()] == '.');
}

// The numbered modules behind `path` that have modules inside.
std::set<std::string_view> numbered_modules(const Graph& graph, std::string_view path) {
  const size_t from = path.empty() ? 0 : path.size() + 1;
  std::set<std::string_view> modules;
  for (const Node& node : graph.nodes) {
    if (!is_inside(node.module, path)) continue;
    const std::string_view prefix = numbered_prefix(node.module, from);
    if (!prefix.empty() && node.module.size() > prefix.size()) modules.insert(prefix);
  }
  return modules;
}

}  // namespace

std::vector<ModuleRange> modules_below(const Graph& graph, std::string_view path) {
  const size_t from = path.empty() ? 0 : path.size() + 1;
  std::set<std::string_view> modules = numbered_modules(graph, path);
  const bool whole = modules.empty() && !path.empty();
  std::map<std::string_view, ModuleRange> found;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const std::string_view at = graph.nodes[id].module;
    if (!is_inside(at, path)) continue;
    const std::string_view module = whole ? path : numbered_prefix(at, from);
    if (!whole && !modules.contains(module)) continue;
    found.try_emplace(module, ModuleRange{std::string(module), id, id + 1}).first->second.last =
        id + 1;
  }
  std::vector<ModuleRange> ranges;
  for (auto& [module, range] : found) ranges.push_back(std::move(range));
  std::sort(ranges.begin(), ranges.end(),
            [](const ModuleRange& a, const ModuleRange& b) { return a.first < b.first; });
  for (size_t i = 1; i < ranges.size(); ++i)
    ranges[i].first = std::max(ranges[i].first, ranges[i - 1].last);
  std::erase_if(ranges, [](const ModuleRange& r) { return r.first >= r.last; });
  return ranges;
}

}  // namespace plimsoll
