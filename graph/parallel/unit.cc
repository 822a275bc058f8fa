#include "graph/parallel/unit.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/base/glob.h"
#include "graph/base/text.h"
#include "graph/ir/module_path.h"

namespace plimsoll::parallel {
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

// In the order of the graph; what two have in common is the first one's.
void put_apart(const Graph& graph, std::vector<Unit>& units) {
  std::ranges::sort(units, {}, &Unit::first);
  for (size_t i = 1; i < units.size(); ++i)
    units[i].first = std::max(units[i].first, units[i - 1].last);
  std::erase_if(units, [](const Unit& u) { return u.first >= u.last; });
  find_weights(graph, units);
}

// A path itself, or the outermost modules that a pattern matches.
std::set<std::string_view> paths_called(const Graph& graph, std::string_view pattern) {
  if (pattern.find_first_of("*?") == pattern.npos) return {pattern};
  std::set<std::string_view> paths;
  for (const Node& node : graph.nodes) {
    const std::string_view module = node.module;
    for (size_t end = module.find('.'); !module.empty(); end = module.find('.', end + 1)) {
      if (matches(pattern, module.substr(0, end))) paths.insert(module.substr(0, end));
      if (end == module.npos || paths.contains(module.substr(0, end))) break;
    }
  }
  return paths;
}

}  // namespace

std::vector<Unit> units_below(const Graph& graph, std::string_view path) {
  const size_t from = path.empty() ? 0 : path.size() + 1;
  std::set<std::string_view> modules = numbered_modules(graph, path);
  const bool whole = modules.empty() && !path.empty();
  std::map<std::string_view, Unit> found;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const std::string_view at = graph.nodes[id].module;
    if (!is_inside(at, path)) continue;
    const std::string_view module = whole ? path : numbered_prefix(at, from);
    if (!whole && !modules.contains(module)) continue;
    found.try_emplace(module, Unit{std::string(module), id, id + 1}).first->second.last = id + 1;
  }
  std::vector<Unit> units;
  for (auto& [module, unit] : found) units.push_back(std::move(unit));
  put_apart(graph, units);
  return units;
}

std::vector<Unit> units_called(const Graph& graph, std::string_view list) {
  std::vector<Unit> units;
  for (const std::string_view part : split(list, ',')) {
    const std::set<std::string_view> paths = paths_called(graph, part);
    const size_t before = units.size();
    for (const std::string_view path : paths) {
      for (Unit& unit : units_below(graph, path)) units.push_back(std::move(unit));
    }
    if (units.size() == before) return {};
  }
  put_apart(graph, units);
  return units;
}

Unit find_weights(const Graph& graph, std::vector<Unit>& units) {
  const size_t rest = units.size();
  std::vector<size_t> unit_of(graph.nodes.size(), rest);
  for (size_t i = 0; i < rest; ++i)
    std::fill(unit_of.begin() + units[i].first, unit_of.begin() + units[i].last, i);
  constexpr auto kNobody = static_cast<size_t>(-1);
  std::vector<size_t> reader(graph.tensors.size(), kNobody);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const TensorId in : graph.nodes[id].inputs) {
      if (in == kNoTensor) continue;
      const bool only = reader[in] == kNobody || reader[in] == unit_of[id];
      reader[in] = only ? unit_of[id] : rest;
    }
  }
  Unit around{.last = static_cast<NodeId>(graph.nodes.size())};
  for (Unit& unit : units) unit.weights.clear();
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].kind != TensorKind::kParameter || reader[id] == kNobody) continue;
    (reader[id] == rest ? around : units[reader[id]]).weights.push_back(id);
  }
  return around;
}

const Unit* unit_from(const std::vector<Unit>& units, NodeId first) {
  const auto at = std::ranges::lower_bound(units, first, {}, &Unit::first);
  return at != units.end() && at->first == first ? &*at : nullptr;
}

}  // namespace plimsoll::parallel
