#include "graph/onnx/module_name.h"

namespace plimsoll::onnx {

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
  // The elements are Python string literals; module names hold no quotes.
  std::string_view before_last, last;
  for (size_t at = 0; at < list.size();) {
    const size_t open = list.find_first_of("'\"", at);
    if (open == std::string_view::npos) break;
    const size_t close = list.find(list[open], open + 1);
    if (close == std::string_view::npos) break;
    before_last = last;
    last = list.substr(open + 1, close - open - 1);
    at = close + 1;
  }
  // What PyTorch writes where it lost the module.
  if (before_last.find("_empty_nn_module_stack") == 0) return {};
  return std::string(before_last);
}

}  // namespace plimsoll::onnx
