#include <algorithm>
#include <map>

#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

bool is_matrix_parameter(const Rewrite& r, TensorId t) {
  const Tensor& tensor = r.tensor(t);
  return tensor.kind == TensorKind::kParameter && is_float(tensor.dtype) && tensor.shape &&
         tensor.shape->size() == 2 && !tensor.contents;
}

constinit const Fragment kProductOf("y = MatMul(x, w)"), kTransposedWeight("y = Transpose(w)");

// Weight matrices that an exporter folded a transposition into: all their readers multiply by them
// from the right.
bool is_folded_weight(const Rewrite& r, TensorId t) {
  if (!is_matrix_parameter(r, t) || r.tensor(t).name.find('.') != std::string::npos) return false;
  const auto& readers = r.readers(t);
  return r.uses(t) == readers.size() &&
         std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
           const auto product = kProductOf.at(r, reader);
           return product && (*product)["x"] != t && (*product)["w"] == t;
         });
}

constinit const Fragment kSumOf("y = Add(a, b)");

// The Add after a product, if it adds a trained vector: the bias of the layer.
TensorId bias_after(const Rewrite& r, TensorId product, TensorId weight, NodeId& add) {
  add = r.only_reader(product);
  const auto sum = kSumOf.at(r, add);
  if (!sum) return kNoTensor;
  const TensorId other = (*sum)[(*sum)["a"] == product ? "b" : "a"];
  const Tensor& bias = r.tensor(other);
  const bool vector = bias.kind == TensorKind::kParameter && bias.shape && bias.shape->size() == 1;
  return vector && (*bias.shape)[0] == (*r.tensor(weight).shape)[0] ? other : kNoTensor;
}

constinit const Fragment kTimesNumber("y = Mul(x, #)");

// Is what a table gives scaled before anything else? Done because the table is the head's too,
// whose entries are small (Gemma).
bool is_scaled_after(const Rewrite& r, TensorId looked_up) {
  const auto& readers = r.readers(looked_up);
  return readers.size() == 1 && kTimesNumber.at(r, readers[0]);
}

constinit const Fragment kCosine("y = Cos(_)"), kJoined("y = Concat(_)");

// Cosines that are joined with sines are positions (XLNet, Funnel); rotary ones multiply data.
bool is_rotary(const Rewrite& r, NodeId id) {
  if (!kCosine.at(r, id)) return false;
  const auto& readers = r.readers(r.node(id).outputs[0]);
  return std::none_of(readers.begin(), readers.end(),
                      [&](NodeId reader) { return kJoined.at(r, reader).has_value(); });
}

constinit const Fragment kLayerNorm("y = LayerNormalization(_)"), kLookUp("y = Gather(table, _)");

// A head that multiplies by the embedding's own table: an exporter that folds writes it as a second
// matrix of the same extents. Networks with layer norm (transformers) tie the two where there is
// one such table; those that scale what the head reads, or the rows they look up, do it because of
// the tie. With rotary positions heads are mostly their own (tie_word_embeddings in transformers'
// configurations of GPT-NeoX, GPT-J, Phi, CodeGen, StableLM, Nemotron; but Falcon and StarCoder2
// tie).
TensorId tied_table(const Rewrite& r, TensorId weight, NodeId product) {
  if (!r.tensor(weight).name.starts_with("onnx::MatMul")) return kNoTensor;
  bool scaled = kTimesNumber.of(r, r.node(product).inputs[0]).has_value();
  bool normed = false, rotary = false;
  TensorId table = kNoTensor;
  for (NodeId id = 0; id < r.nodes(); ++id) {
    if (r.is_removed(id)) continue;
    normed = normed || kLayerNorm.at(r, id);
    rotary = rotary || is_rotary(r, id);
    const auto row = id < product ? kLookUp.at(r, id) : std::nullopt;
    const TensorId other = row ? (*row)["table"] : kNoTensor;
    if (!row || !is_matrix_parameter(r, other) || r.tensor(other).shape != r.tensor(weight).shape)
      continue;
    if (table != kNoTensor && table != other) return kNoTensor;
    table = other;
    scaled = scaled || is_scaled_after(r, (*row)["y"]);
  }
  return scaled || (normed && !rotary) ? table : kNoTensor;
}

void make_linear(Finder& f, NodeId product, TensorId weight) {
  const TensorId x = f.r.node(product).inputs[0];
  const size_t before = f.r.removed_count();
  NodeId add = kNoNode;
  const TensorId bias = bias_after(f.r, f.r.node(product).outputs[0], weight, add);
  if (bias != kNoTensor) {
    f.r.replace(add, "plimsoll", "Linear", {x, weight, bias});
    f.note("linear", add, before);
  } else {
    f.r.replace(product, "plimsoll", "Linear", {x, weight});
    f.note("linear", product, before);
  }
}

// The bias of the layer that this product is a call of; kNoTensor where the file does not name it.
TensorId own_bias(const Rewrite& r, NodeId product, TensorId weight) {
  NodeId add = kNoNode;
  const TensorId bias = bias_after(r, r.node(product).outputs[0], weight, add);
  const std::string& module = r.node(product).module;
  return bias != kNoTensor && r.tensor(bias).name == module + ".bias" ? bias : kNoTensor;
}

// A layer that is called several times, in a loop over steps: an exporter of graphs transposes its
// weight for each call anew. The first call's weight; kNoTensor at that one.
TensorId of_first_call(const Rewrite& r, NodeId product, TensorId weight,
                       std::map<TensorId, TensorId>& weights) {
  const TensorId bias = own_bias(r, product, weight);
  if (bias == kNoTensor) return kNoTensor;
  const auto [first, added] = weights.emplace(bias, weight);
  const bool alike = r.tensor(first->second).shape == r.tensor(weight).shape;
  return !added && alike ? first->second : kNoTensor;
}

}  // namespace

void linear(Finder& f) {
  Rewrite& r = f.r;
  std::map<TensorId, TensorId> weights;  // by bias
  for (NodeId id = 0; id < r.nodes(); ++id) {
    const auto product = r.is_removed(id) ? std::nullopt : kProductOf.at(r, id);
    if (!product) continue;
    const TensorId right = (*product)["w"];
    if (const TensorId weight = kTransposedWeight.in(r, right, "w"); weight != kNoTensor) {
      if (is_matrix_parameter(r, weight)) make_linear(f, id, weight);
    } else if (is_folded_weight(r, right)) {
      auto& shape = *r.graph().tensors[right].shape;
      std::swap(shape[0], shape[1]);
      const TensorId first = of_first_call(r, id, right, weights);
      const TensorId table = first != kNoTensor ? first : tied_table(r, right, id);
      const std::vector<NodeId> readers = r.readers(right);
      for (const NodeId reader : readers) {
        make_linear(f, reader, table == kNoTensor ? right : table);
      }
    }
  }
}

}  // namespace plimsoll::patterns
