// The text notation of graphs, one line per node, for tests, dumps and the examples of operators
// and patterns. A semicolon ends a line too.
//
//   # a comment
//   opset 17
//   baked 8 as batch                          Graph::baked_batch and batch_symbol
//   default hidden = 512                      Graph::defaults
//   input x: f32[batch,3,224,224]
//   param w: f32[64,3,7,7]
//   const target: i64[2] = [0, -1]            a parameter with contents
//   y = Conv(x, w) {strides=[2,2], auto_pad="SAME_UPPER"} name="conv 1" module="layer1.conv1"
//   a = Relu(y) module="m" calls="/m/m.act" in_place=1      Node::notes
//   v, _ = com.microsoft:Thing(y, _, target)  a domain before the colon; _ omits an input or output
//   output v
//
// Extents are sums and products of whole numbers, symbols, parentheses and floor(a / b),
// ceil(a / b), max(a, b), min(a, b): what Dim::text() prints. Attribute values are whole numbers,
// reals (with a point or an exponent), "strings", and lists of one of these; [] is a list of whole
// numbers. Names outside [A-Za-z0-9_./:-] are quoted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/graph.h"

namespace plimsoll {

// E290 with line and column for text that is not in the notation. Cost: linear in the text.
// The graph is not verified and not inferred. Nodes may use tensors only after they are defined.
Result<Graph> parse_text(std::string_view text);
// parse_text(to_text(g)) is g, but for shapes of values, which appear as comments, and symbols
// whose names are no identifiers, which do not parse.
std::string to_text(const Graph& graph);

// An operator's worked example, "f32[B,4] i64[1]=[-1] _ {axis=0} -> f32[B,16] | keeps in0", as a
// graph of one node whose inputs are in0, in1, ... (constants where contents are given), with the
// expected types of its outputs, their contents where given, and what stands behind the first bar.
// An omitted input or output is _; an output's type is then undefined. An attribute `opset` sets
// the graph's opset, which is 23 otherwise.
struct Example {
  Graph graph;
  std::vector<TensorType> outputs;
  std::vector<std::shared_ptr<const Contents>> contents;
  std::string rest;
};
Result<Example> parse_example(std::string_view domain, std::string_view op, std::string_view text);

}  // namespace plimsoll
