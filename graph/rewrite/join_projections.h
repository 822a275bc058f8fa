// Query, key and value projections as one layer, and gates as two, as litgpt has them
// (litgpt/model.py, CausalSelfAttention and LLaMAMLP of 2023 to 2025).
#pragma once

#include <array>
#include <map>
#include <string_view>

#include "graph/rewrite/editor.h"

namespace plimsoll {

constexpr std::array<std::string_view, 3> kProjections = {"q_proj", "k_proj", "v_proj"};

// Columns of the three, by the weight of the layer that makes them.
using PackedWeights = std::map<TensorId, std::array<Dim, 3>>;

// Queries and keys are copied before they meet, as its code joins what is rotated with what is not.
// Three layers of one input become one whose output is split; a layer that is all three already is
// named with them. Where there are any, heads that read an embedding's table get their own weight.
// The graph has shapes; call it before nodes are counted. Cost: a visit per node.
PackedWeights join_projections(Rewrite& r);

// A layer that makes what an activation gates and its gate becomes two, of the names below, as
// litgpt's conversion leaves Phi-3's (litgpt/scripts/convert_hf_checkpoint.py, copy_weights_phi()).
constexpr std::string_view kPackedGates = "gate_up_proj";
constexpr std::array<std::string_view, 2> kGates = {"gate_proj", "up_proj"};
void part_gates(Rewrite& r);

}  // namespace plimsoll
