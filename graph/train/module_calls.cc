#include "graph/train/module_calls.h"

#include "graph/ir/module_path.h"

namespace plimsoll {

std::vector<std::string_view> calls_around(const Node& node) {
  if (!node.notes.calls.empty()) return parts_between('/', node.notes.calls);
  if (node.name.starts_with('/')) {
    auto scopes = parts_between('/', node.name);
    if (!scopes.empty()) scopes.pop_back();
    return scopes;
  }
  std::vector<std::string_view> calls;
  for (const std::string_view part : parts_between('.', node.module)) {
    if (is_number(part) && !calls.empty()) {
      const char* begin = calls.back().data();
      calls.back() = {begin, static_cast<size_t>(part.data() + part.size() - begin)};
    } else {
      calls.push_back(part);
    }
  }
  return calls;
}

std::string_view call_path(const Node& node) {
  if (!node.notes.calls.empty()) return node.notes.calls;
  const std::string_view name = node.name;
  return name.starts_with('/') ? name.substr(0, name.rfind('/')) : std::string_view(node.module);
}

}  // namespace plimsoll
