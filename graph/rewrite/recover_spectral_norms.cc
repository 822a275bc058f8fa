// Spectral norm divides a weight by its largest singular value, which each training step finds a
// little better. An exporter that folds writes the quotient. Training has the weight, two vectors
// that the steps improve (buffers), and the division.
#include <map>

#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

// A normalised input is multiplied by a weight whose rows were normalised: that is a cosine, and a
// division too.
bool is_cosine(const Rewrite& r, TensorId x) {
  return r.made_by(x, "Div") || r.made_by(x, "LpNormalization");
}

bool is_divided_weight(const Rewrite& r, const Node& layer) {
  const bool convolves = layer.op == "Conv" || layer.op == "ConvTranspose";
  const bool multiplies = layer.op == "Gemm" && layer.attributes.integer("transB", 0) == 1;
  if (!convolves && !(multiplies && !is_cosine(r, layer.inputs[0]))) return false;
  return is_folded_result(r.tensor(layer.inputs[1]), "div") && r.rank(layer.inputs[1]) > 1;
}

}  // namespace

void spectral_norms(Finder& f) {
  Rewrite& r = f.r;
  if (!r.graph().producer.starts_with("pytorch")) return;
  std::map<TensorId, std::pair<TensorId, TensorId>> vectors;  // of a weight: layers may run twice
  const size_t nodes = r.nodes();
  for (NodeId id = 0; id < nodes; ++id) {
    if (r.dead(id) || !is_divided_weight(r, r.node(id))) continue;
    const TensorId weight = r.node(id).inputs[1];
    const Shape shape = *r.tensor(weight).shape;
    const DType dtype = r.tensor(weight).dtype;
    const size_t axis = r.node(id).op == "ConvTranspose" ? 1 : 0;
    if (!vectors.count(weight)) {
      const std::string name = r.tensor(weight).name;
      const TensorId u = r.add_parameter(name + ".u", dtype, {shape[axis]});
      const Dim rest = floor_div(elements(shape), shape[axis]);
      vectors[weight] = {u, r.add_parameter(name + ".v", dtype, {rest})};
    }
    const auto& [u, v] = vectors[weight];
    Node divide{.op = "SpectralNorm",
                .domain = "plimsoll",
                .name = r.node(id).name,
                .module = r.node(id).module,
                .attributes = {},
                .inputs = {weight, u, v},
                .outputs = {}};
    divide.attributes.set("axis", static_cast<int64_t>(axis));
    const TensorId divided = r.insert_before(id, std::move(divide), dtype, shape);
    r.read_instead(id, weight, divided);
    f.note("spectral norm", r.producer(divided), r.deaths());
  }
}

}  // namespace plimsoll::patterns
