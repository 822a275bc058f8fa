// The tables of patterns and the passes of recover(), in files by kind of layer. Which come first
// says graph/rewrite/recover.cc.
#pragma once

#include <span>

#include "graph/rewrite/pattern.h"

namespace plimsoll::patterns {

// Did an exporter fold a result of this function? It keeps the name of what made it: "sigmoid_1",
// "sub_5".
bool is_folded_result(const Tensor& t, std::string_view of);

// Trained gates of two branches that an exporter computed.
std::span<const Pattern> gates();
// Views and pools that an exporter wrote as gathers.
std::span<const Pattern> gathers();
// Assignments to a part of a tensor.
std::span<const Pattern> assignments();
// Functions and losses that an exporter wrote in pieces.
std::span<const Pattern> functions();
// GELU in its two forms, SiLU, hard swish, Mish, GLU.
std::span<const Pattern> activations();
// Layer norm as older exporters write it.
std::span<const Pattern> layer_norms();
// Other norms, and reciprocal square roots.
std::span<const Pattern> norms();
// Which activations overwrite their input.
std::span<const Pattern> in_place();

// Nodes that nobody reads: the rows that a bag would look up before its loop.
void unread(Finder& finder);
// Padding that an exporter merged into a convolution.
void padding(Finder& finder);
// Weights of several modules that an exporter merged.
void merged_weights(Finder& finder);
// Biases of zeros that an exporter dropped.
void removed_biases(Finder& finder);
// Biases of zeros that an exporter made.
std::span<const Pattern> generated_biases();
// Batch norm that an exporter folded into the layer before it.
std::span<const Pattern> folded_norms();
// Weights that are divided by their largest singular value at every step.
void spectral_norms(Finder& finder);
// Tables of relative positions that an exporter looked up.
void relative_bias(Finder& finder);
// Embeddings that an exporter looked up.
void lookups(Finder& finder);
// Time steps of recurrent layers that people run one by one.
std::span<const Pattern> cells();
// Chunks and rolled tensors, written as slices.
std::span<const Pattern> slices();
// Scaled dot-product attention, and the copy that a packed projection makes.
std::span<const Pattern> attention();
// A copy of a tensor that has a shape, made right before a node.
TensorId contiguous_before(Rewrite& r, NodeId at, TensorId t);
// Copies that a source line makes of what it transposes. After attention, whose operands they are.
std::span<const Pattern> named_copies();
std::span<const Pattern> copies();
// A matrix product with a trained weight, and its bias.
void linear(Finder& finder);
// Chains of recurrent layers, with the parameters behind the plumbing.
void recurrent(Finder& finder);

// Activations of branches that an exporter merged to one. On a graph of its own.
void merged(Finder& finder);
// Tables that modules make once and keep. On a graph of its own.
void kept_tables(Finder& finder);
// Tables that each layer computes for itself, merged to the first one's. On a graph of its own.
void tables(Finder& finder);

}  // namespace plimsoll::patterns

namespace plimsoll {

// All tables of rows, in the order of recover().
std::vector<std::span<const patterns::Pattern>> pattern_tables();

}  // namespace plimsoll
