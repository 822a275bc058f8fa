// ONNX to Graph: the door through which models come in.
//
// Weights keep type and extents, never their bytes; small constants, which shapes depend on, keep
// their contents. External data is never opened. Functions, one branch of an If and the iterations
// of Loops and Scans are inlined: shapes are inferred where they decide which branch and how many,
// at the values of symbols (Graph::guards); a branch that data choose is guessed. Symbolic extents
// of the inputs become symbols; a batch baked into them as a constant becomes one again
// (Graph::baked_batch). Shapes of values inside the graph are not taken from the file: infer()
// computes them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/base/byte_source.h"
#include "graph/base/limits.h"
#include "graph/graph.h"

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

// A verified graph without shapes: infer() is next. Diagnostics carry the source's name.
//
// E201 empty, E202 and E203 another kind of file, E204 to E208 not a sound protobuf message, E211
// no graph, E212 no outputs, E213 no opset, E214 a node without operator, E221 to E224 names and
// cycles, E225 unknown trip counts, E226 sequences, maps and optionals, E231 to E236 extents, E247
// and E249 attributes, E112 a shape for no input, E255 a trip count or branch for no node, E256 a
// classical model, E6xx of ByteSource, E8xx limits, and what ImportOptions::bind says.
// W201 versions newer or older than known, W202 unsorted, W203 an extent of -1 or 0 taken as
// unknown, W205 missing data, W206 strings, W211 no nodes, W212 a guessed If, W213 a training
// graph, W216 a loop that may end early, W220 and W221 odd external data, W240 a branch or trip
// count asked without effect.
// Cost: linear in the nodes after inlining; a ResNet-50 takes a millisecond.
Result<Graph> import_onnx(const ByteSource& source, const ImportOptions& options,
                          Diagnostics& warnings);
Result<Graph> import_onnx(const std::string& path, const ImportOptions& options,
                          Diagnostics& warnings);

}  // namespace plimsoll
