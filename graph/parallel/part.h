// Part: where in a value a rank has its part, and where in what operators make of it.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/ir/graph.h"

namespace plimsoll::parallel {

struct Part {
  size_t dimension = 0;
  // The dimension is so many pieces one behind the other, and a rank has its part of each: of rows
  // [samples * heads, size] some heads of each sample.
  Dim pieces = 1;
};

// Whether `ranks` have equal parts of a value of these sizes. False where its extent is a symbol's.
bool divides(const Shape& sizes, const Part& part, int64_t ranks);

// The part of a value of sizes `to` that shows all elements of one of sizes `from` in their order.
// Where the ranks do not divide the extent that the part would be of, it is of the next one:
// query, key and value of a layer that makes them joined, [3 * heads * size] shown as
// [3, heads, size]. Nothing where it is of no one dimension.
std::optional<Part> part_in_order(const Shape& from, const Shape& to, const Part& part,
                                  int64_t ranks);

// ... and the part of what a view shows, of which it shows `part`.
std::optional<Part> part_before(const Graph& graph, const Node& view, const Part& part,
                                int64_t ranks);

// The part of the node's first output where `in` is what it reads in parts; nothing where it needs
// all of it. Not of dense layers with a matrix of their own.
std::optional<Part> part_after(const Graph& graph, const Node& node, TensorId in, const Part& part,
                               int64_t ranks);

}  // namespace plimsoll::parallel
