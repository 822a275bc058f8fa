// Nodes as --trip and --branch name them.
#pragma once

#include "graph/onnx/import_options.h"
#include "graph/onnx/model.h"

namespace plimsoll::onnx {

// What a user calls a node on the command line: its name, else its first output's.
const std::string& handle(const NodeSpec& spec);

// What was asked of a node, by its handle or by that with the path to it; null where nothing was.
template <class Value>
const Value* asked_of(const std::map<std::string, Value, std::less<>>& asked,
                      const std::string& prefix, const NodeSpec& spec) {
  if (asked.empty()) return nullptr;
  auto at = asked.find(prefix + handle(spec));
  if (at == asked.end()) at = asked.find(handle(spec));
  return at == asked.end() ? nullptr : &at->second;
}

// E255 where no Loop, Scan or If is called so. Cost: linear in the nodes, where anything is asked.
Result<void> check_asked_nodes(const ModelSpec& model, const ImportOptions& options);

}  // namespace plimsoll::onnx
