#include "graph/exporter/module_name.h"

#include <array>
#include <utility>
#include <vector>

#include "graph/exporter/library_names.h"
#include "graph/exporter/origin.h"
#include "graph/json/reader.h"

namespace plimsoll::onnx {
namespace {

// The elements, which are Python string literals (module names hold no quotes), but for the last:
// the node's own name.
std::vector<std::string_view> scopes_in(std::string_view list) {
  std::vector<std::string_view> scopes;
  for (size_t at = 0; at < list.size();) {
    const size_t open = list.find_first_of("'\"", at);
    if (open == std::string_view::npos) break;
    const size_t close = list.find(list[open], open + 1);
    if (close == std::string_view::npos) break;
    scopes.push_back(list.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  if (!scopes.empty()) scopes.pop_back();
  // What PyTorch writes where it lost the module.
  const bool lost = !scopes.empty() && scopes.back().starts_with("_empty_nn_module_stack");
  return lost ? std::vector<std::string_view>() : scopes;
}

std::set<std::string, std::less<>> targets_of(std::string_view kind, std::string_view text) {
  std::set<std::string, std::less<>> targets;
  for (size_t at = text.find(kind); at != text.npos; at = text.find(kind, at)) {
    at += kind.size();
    const size_t end = text.find('\'', at);
    if (end == text.npos) break;
    targets.emplace(text.substr(at, end - at));
  }
  return targets;
}

}  // namespace

std::string module_from_node_name(std::string_view name) {
  const size_t operator_at = name.rfind('/');
  if (operator_at == std::string_view::npos) return {};
  std::string_view scopes = name.substr(0, operator_at);
  std::string module;
  std::string_view last;
  while (!scopes.empty()) {
    const size_t slash = scopes.find('/');
    const std::string_view scope = scopes.substr(0, slash);
    scopes = slash == std::string_view::npos ? std::string_view() : scopes.substr(slash + 1);
    if (scope.empty()) continue;
    // A child of a Sequential carries its parent's name once more.
    const bool repeats = !last.empty() && scope.size() > last.size() + 1 &&
                         scope.substr(0, last.size()) == last && scope[last.size()] == '.';
    if (repeats) module.resize(module.size() - last.size());
    if (!repeats && !module.empty()) module += '.';
    module += scope;
    last = scope;
  }
  return module;
}

std::string module_from_scopes(std::string_view list) {
  const auto scopes = scopes_in(list);
  return scopes.empty() ? std::string() : std::string(scopes.back());
}

std::string calls_from_scopes(std::string_view list) {
  std::string calls;
  for (const std::string_view scope : scopes_in(list)) {
    if (calls.empty() || calls.back() != '/') calls += '/';
    calls += scope;  // the model's own is empty
  }
  return calls;
}

ModuleSignature module_signature(std::string_view text) {
  return {.parameters = targets_of(": PARAMETER target='", text),
          .buffers = targets_of(": BUFFER target='", text)};
}

bool is_scalar_parameter(std::string_view name, const ModuleSignature& module, bool by_paths) {
  const bool listed = !module.parameters.empty() || !module.buffers.empty();
  return listed ? module.parameters.contains(name)
                : by_paths && is_authored_name(name) && !has_role(name, NameRole::kScale);
}

std::optional<ModuleSignature> module_state(std::string_view text, const Limits& limits) {
  const auto root = read_json(text, "", limits);
  if (!root) return std::nullopt;
  ModuleSignature state;
  state.complete = true;
  const std::array<std::pair<std::string_view, std::set<std::string, std::less<>>*>, 3> lists = {
      {{"parameters", &state.parameters}, {"frozen", &state.frozen}, {"buffers", &state.buffers}}};
  for (const auto& [key, names] : lists) {
    const JsonValue* list = root->find(key);
    if (!list || !list->list()) return std::nullopt;
    for (const JsonValue& name : *list->list()) {
      if (!name.string()) return std::nullopt;
      names->insert(*name.string());
    }
  }
  return state;
}

}  // namespace plimsoll::onnx
