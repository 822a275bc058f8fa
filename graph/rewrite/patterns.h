// The patterns of recover(), one file per kind of layer. Each looks at every living node as the
// last of a group.
#pragma once

#include <vector>

#include "graph/rewrite/editor.h"
#include "graph/rewrite/recovered.h"

namespace plimsoll::patterns {

class Finder {
 public:
  Finder(Rewrite& rewrite, Decider* decides) : r(rewrite), decider(decides) {}
  Rewrite& r;
  Decider* decider;  // none: what depends on a symbol is taken to be large
  std::vector<Recovered> found;

  // `at` stands for a group now: its `interior` nodes died, or it lives on as one of them.
  void note(std::string_view pattern, NodeId at, size_t deaths_before) {
    found.push_back({pattern, at, r.deaths() - deaths_before + 1});
  }
  // Whoever reads `value`, of known shape and with a reader, reads a contiguous copy of it instead.
  void copy_for_readers(std::string_view pattern, TensorId value);
};

// Did an exporter fold a result of this function? It keeps the name of what made it: "sigmoid_1",
// "sub_5".
bool is_folded_result(const Tensor& t, std::string_view of);

// Padding that an exporter merged into a convolution.
void padding(Finder& finder);
// Weights of several modules that an exporter merged.
void merged_weights(Finder& finder);
// Biases of zeros that an exporter dropped.
void removed_biases(Finder& finder);
// Batch norm that an exporter folded into the layer before it.
void folded_norms(Finder& finder);
// Weights that are divided by their largest singular value at every step.
void spectral_norms(Finder& finder);
// Tables of relative positions that an exporter looked up.
void relative_bias(Finder& finder);
// Embeddings that an exporter looked up.
void lookups(Finder& finder);
// Time steps of recurrent layers that people run one by one.
void cells(Finder& finder);
// Trained gates of two branches that an exporter computed.
void gates(Finder& finder);
// Views and pools that an exporter wrote as gathers.
void gathers(Finder& finder);
// GELU in its two forms, SiLU, hard swish, Mish, GLU.
void activations(Finder& finder);
// Which activations overwrite their input. After norms, which then are whole.
void in_place(Finder& finder);
// Chunks and rolled tensors, written as slices.
void slices(Finder& finder);
// Functions and losses that an exporter wrote in pieces.
void functions(Finder& finder);
// Layer norm as older exporters write it, group norm, reciprocal square roots.
void norms(Finder& finder);
// Scaled dot-product attention, and the copy that a packed projection makes.
void attention(Finder& finder);
// Copies that a source line makes of what it transposes. After attention, whose operands they are.
void copies(Finder& finder);
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
