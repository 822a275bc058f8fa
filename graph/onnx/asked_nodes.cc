#include "graph/onnx/asked_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "graph/base/escape.h"
#include "graph/base/setting.h"

namespace plimsoll::onnx {
namespace {

std::set<std::string> handles(const ModelSpec& model, bool (*wanted)(std::string_view op)) {
  std::set<std::string> names;
  for (const GraphSpec& graph : model.graphs) {
    for (const NodeSpec& node : graph.nodes) {
      if (node.domain.empty() && wanted(node.op)) names.insert(handle(node));
    }
  }
  return names;
}

// A handle, or a path that ends in one.
bool is_one_of(const std::set<std::string>& names, const std::string& asked) {
  return names.contains(asked) || std::ranges::any_of(names, [&](const std::string& name) {
           return asked.size() > name.size() && asked.ends_with(name) &&
                  asked[asked.size() - name.size() - 1] == '/';
         });
}

std::string remedy(const std::set<std::string>& names) {
  constexpr size_t kShown = 8;
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() == kShown) break;
    shown.push_back(shortened(name, 60));
  }
  if (names.empty()) return "the model has none";
  return fmt::format("it has {}{}", fmt::join(shown, ", "), names.size() > kShown ? ", ..." : "");
}

Result<void> check(const std::set<std::string>& names, const std::string& asked,
                   std::string_view asked_by, std::string_view what) {
  if (is_one_of(names, asked)) return {};
  const std::string near = nearest(asked, {names.begin(), names.end()});
  return error("E255",
               fmt::format("{}: there is no {} of this name",
                           setting_entry(asked_by, shortened(asked, 60)), what),
               {}, near.empty() ? remedy(names) : fmt::format("did you mean {}?", shortened(near)));
}

}  // namespace

const std::string& handle(const NodeSpec& spec) {
  return spec.name.empty() && !spec.outputs.empty() ? spec.outputs.front() : spec.name;
}

Result<void> check_asked_nodes(const ModelSpec& model, const ImportOptions& options) {
  if (!options.trips.empty()) {
    const auto loops =
        handles(model, [](std::string_view op) { return op == "Loop" || op == "Scan"; });
    for (const auto& [name, count] : options.trips) {
      if (auto known = check(loops, name, "trip", "Loop or Scan"); !known) return known;
    }
  }
  if (!options.branches.empty()) {
    const auto choices = handles(model, [](std::string_view op) { return op == "If"; });
    for (const auto& [name, branch] : options.branches) {
      if (auto known = check(choices, name, "branch", "If"); !known) return known;
    }
  }
  return {};
}

}  // namespace plimsoll::onnx
