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

#include <string>

#include "graph/base/byte_source.h"
#include "graph/ir/graph.h"
#include "graph/onnx/import_options.h"

namespace plimsoll {

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

}  // namespace plimsoll
