// What an import is asked for beside the file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/base/limits.h"
#include "graph/ir/graph.h"

namespace plimsoll {

// Values of a graph's symbols, of which it has the inputs.
using BindSymbols = std::function<Result<Binding>(const Graph&)>;

struct ImportOptions {
  Limits limits;
  // No nodes: for whoever asks which inputs and symbols a file has.
  bool inputs_only = false;
  // At which control flow is decided. Asked once, where a file has control flow that depends on
  // shapes; without it Graph::defaults are taken. Its errors are the import's.
  BindSymbols bind;
  // As InferOptions::assume: shapes are inferred where control flow depends on them.
  std::map<std::string, std::string, std::less<>> assume;
  // The branch of an If to take where its condition is not known, by the node's name: "then" or
  // "else" (--branch NODE=then).
  std::map<std::string, std::string, std::less<>> branches;
  // Iterations of a Loop or Scan the file does not say, by the node's name (--trip NODE=K).
  std::map<std::string, int64_t, std::less<>> trips;
  // Extents of an input in place of the file's (--shape NAME=1x3x224x224). Where the file has a
  // symbol, the value becomes that symbol's default.
  std::map<std::string, std::vector<int64_t>, std::less<>> shapes;
  // Height and width of all inputs of rank 4 (--image 160).
  std::optional<int64_t> image;
  // Makes them the symbol `image` instead, with the file's (or the above) as default: for sweeps.
  bool image_symbol = false;
};

}  // namespace plimsoll
