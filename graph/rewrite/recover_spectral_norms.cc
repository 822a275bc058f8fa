// Spectral norm divides a weight by its largest singular value, which each training step finds a
// little better. An exporter that folds writes the quotient. Training has the weight, two vectors
// that the steps improve (buffers), and the division.
#include <map>

#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

// A normalised input is multiplied by a weight whose rows were normalised: that is a cosine, and a
// division too.
constinit const Fragment kConvolution("y = Conv|ConvTranspose(x, weight)");
constinit const Fragment kTransposing("y = ConvTranspose(_)");
constinit const Fragment kProductOfLayer("y = Gemm(x, weight) {transB=1}");
constinit const Fragment kNormalised("y = Div|LpNormalization(_)");

// The weight, or kNoTensor.
TensorId divided_weight(const Rewrite& r, NodeId id) {
  if (!kConvolution.at(r, id)) {
    const auto product = kProductOfLayer.at(r, id);
    if (!product || kNormalised.of(r, (*product)["x"])) return kNoTensor;
  }
  const TensorId weight = r.node(id).inputs[1];
  return is_folded_result(r.tensor(weight), "div") && r.rank(weight) > 1 ? weight : kNoTensor;
}

}  // namespace

void spectral_norms(Finder& f) {
  Rewrite& r = f.r;
  if (r.graph().exporter != Exporter::kPyTorch) return;
  std::map<TensorId, std::pair<TensorId, TensorId>> vectors;  // of a weight: layers may run twice
  const size_t nodes = r.nodes();
  for (NodeId id = 0; id < nodes; ++id) {
    const TensorId weight = r.is_removed(id) ? kNoTensor : divided_weight(r, id);
    if (weight == kNoTensor) continue;
    const Shape shape = *r.tensor(weight).shape;
    const DType dtype = r.tensor(weight).dtype;
    const size_t axis = kTransposing.at(r, id) ? 1 : 0;
    if (!vectors.count(weight)) {
      const std::string name = r.tensor(weight).name;
      const TensorId u = r.add_parameter(name + ".u", dtype, {shape[axis]});
      const Dim rest = floor_div(elements(shape), shape[axis]);
      vectors[weight] = {u, r.add_parameter(name + ".v", dtype, {rest})};
    }
    const auto& [u, v] = vectors[weight];
    Node divide = r.beside(id, "plimsoll", "SpectralNorm", {weight, u, v});
    divide.attributes.set("axis", static_cast<int64_t>(axis));
    const TensorId divided = r.insert_before(id, std::move(divide), dtype, shape);
    r.read_instead(id, weight, divided);
    f.note("spectral norm", r.producer(divided), r.removed_count());
  }
}

}  // namespace plimsoll::patterns
