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

// The weight [out, in] that a product with `right` multiplies by, or kNoTensor: behind a Transpose,
// or transposed already by an exporter that folds (undone, where all who read it read it so).
TensorId weight_behind(Finder& f, TensorId right) {
  Rewrite& r = f.r;
  if (const Node* transpose = r.made_by(right, "Transpose")) {
    return is_matrix_parameter(r, transpose->inputs[0]) ? transpose->inputs[0] : kNoTensor;
  }
  return kNoTensor;
}

// Weight matrices that an exporter folded a transposition into: all their readers multiply by them
// from the right.
bool is_folded_weight(const Rewrite& r, TensorId t) {
  if (!is_matrix_parameter(r, t) || r.tensor(t).name.find('.') != std::string::npos) return false;
  const auto& readers = r.readers(t);
  return r.uses(t) == readers.size() &&
         std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
           const Node& node = r.node(reader);
           return node.op == "MatMul" && node.inputs[0] != t && node.inputs[1] == t;
         });
}

// The Add after a product, if it adds a trained vector: the bias of the layer.
TensorId bias_after(const Rewrite& r, TensorId product, TensorId weight, NodeId& add) {
  add = r.only_reader(product);
  if (add == kNoNode || r.node(add).op != "Add") return kNoTensor;
  const auto& inputs = r.node(add).inputs;
  const TensorId other = inputs[0] == product ? inputs[1] : inputs[0];
  const Tensor& bias = r.tensor(other);
  const bool vector = bias.kind == TensorKind::kParameter && bias.shape && bias.shape->size() == 1;
  return vector && (*bias.shape)[0] == (*r.tensor(weight).shape)[0] ? other : kNoTensor;
}

bool is_scaled(const Rewrite& r, TensorId t) {
  const Node* mul = r.made_by(t, "Mul");
  return mul && (r.is_host_number(mul->inputs[0]) || r.is_host_number(mul->inputs[1]));
}

// Is what a table gives scaled before anything else? Done because the table is the head's too,
// whose entries are small (Gemma).
bool is_scaled_after(const Rewrite& r, TensorId looked_up) {
  const auto& readers = r.readers(looked_up);
  return readers.size() == 1 && is_scaled(r, r.node(readers[0]).outputs[0]);
}

// Cosines that are joined with sines are positions (XLNet, Funnel); rotary ones multiply data.
bool is_rotary(const Rewrite& r, const Node& node) {
  if (node.op != "Cos") return false;
  const auto& readers = r.readers(node.outputs[0]);
  return std::none_of(readers.begin(), readers.end(),
                      [&](NodeId reader) { return r.node(reader).op == "Concat"; });
}

// A head that multiplies by the embedding's own table: an exporter that folds writes it as a second
// matrix of the same extents. Networks with layer norm (transformers) tie the two where there is
// one such table; those that scale what the head reads, or the rows they look up, do it because of
// the tie. With rotary positions heads are mostly their own (tie_word_embeddings in transformers'
// configurations of GPT-NeoX, GPT-J, Phi, CodeGen, StableLM, Nemotron; but Falcon and StarCoder2
// tie).
TensorId tied_table(const Rewrite& r, TensorId weight, NodeId product) {
  if (!r.tensor(weight).name.starts_with("onnx::MatMul")) return kNoTensor;
  bool scaled = is_scaled(r, r.node(product).inputs[0]);
  bool normed = false, rotary = false;
  TensorId table = kNoTensor;
  for (NodeId id = 0; id < r.nodes(); ++id) {
    const Node& node = r.node(id);
    if (r.dead(id)) continue;
    normed = normed || node.op == "LayerNormalization";
    rotary = rotary || is_rotary(r, node);
    const bool embeds =
        node.op == "Gather" && id < product && is_matrix_parameter(r, node.inputs[0]);
    if (!embeds || r.tensor(node.inputs[0]).shape != r.tensor(weight).shape) continue;
    if (table != kNoTensor && table != node.inputs[0]) return kNoTensor;
    table = node.inputs[0];
    scaled = scaled || is_scaled_after(r, node.outputs[0]);
  }
  return scaled || (normed && !rotary) ? table : kNoTensor;
}

void make_linear(Finder& f, NodeId product, TensorId weight) {
  const TensorId x = f.r.node(product).inputs[0];
  const size_t before = f.r.deaths();
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
    if (r.dead(id) || r.node(id).op != "MatMul") continue;
    const TensorId right = r.node(id).inputs[1];
    if (const TensorId weight = weight_behind(f, right); weight != kNoTensor) {
      make_linear(f, id, weight);
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
