// How many tokens a mixture of experts sends to each expert: a count that depends on data, but
// whose expectation does not.
#pragma once

#include <optional>

#include "graph/ops/op_row.h"

namespace plimsoll::ops {

// How many times its even share the first expert of each layer gets; the others share what is left.
// 1 unless it is bound (--dim busiest_expert=4); a value as large as one likes means all tokens.
inline constexpr const char* kBusiestExpert = "busiest_expert";

// Whether a graph both chooses and asks who was chosen: the first thing that has the symbol above.
bool may_route_tokens(const Graph& graph);

// The number of nonzero elements in the input of a NonZero, where that input tells which tokens'
// top k of n experts are a given one (a slice of a OneHot, an Equal): k of n of all tokens. Where
// it tells which experts get any token: all n. Nothing where it is about anything else.
std::optional<Dim> tokens_routed(InferContext& c);

}  // namespace plimsoll::ops
