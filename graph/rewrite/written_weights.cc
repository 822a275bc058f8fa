#include "graph/rewrite/written_weights.h"

#include <algorithm>
#include <optional>

#include "graph/exporter/weight_places.h"
#include "graph/ops/op_row.h"
#include "graph/rewrite/editor.h"
#include "graph/rewrite/pattern.h"

namespace plimsoll {
namespace {

using patterns::Fragment;

constinit const Fragment kStatistics("y = BatchNormalization(_)");
constinit const Fragment kMultiplies("y = MatMul|Gemm(_)"), kTensorProduct("y = Einsum(_)");
constinit const Fragment kConvolves("y = Conv|ConvTranspose(_)");
constinit const Fragment kLooksUp("y = Gather(table, at)"), kConstant("y = ConstantOfShape(_)");
constinit const Fragment kAdds("y = Add(a, b)"), kScales("y = Mul(a, b)");
// What a deviation, or its inverse, divides or multiplies.
constinit const Fragment kNormal("r = Sqrt|Reciprocal|Pow(_); y = Div(_, r) | Mul(_, r)");
// Puts arrays together or picks from them, as plumbing around gates does.
constinit const Fragment kJoins("y = Concat(_)"), kPicks("y = Slice|Split|Gather(_)");
// Arithmetic that weights are made of at every step: directions and lengths (weight norm), weights
// that are standardised, scaled or cut.
constinit const Fragment kComputes(
    "y = "
    "Add|Sub|Mul|Div|Neg|Abs|Sqrt|Pow|Reciprocal|Expand|ReduceL2|ReduceMean|ReduceSum|ReduceMax|"
    "ReduceSumSquare(_)");

class Search {
 public:
  explicit Search(Graph& graph)
      : graph_(graph),
        rewrite_(graph),
        by_pytorch_(graph.exporter == Exporter::kPyTorch),
        fed_(graph.tensors.size(), 0),
        weighs_(graph.tensors.size(), 0) {
    for (const TensorId in : graph.inputs) fed_[in] = 1;
  }

  void run() {
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      if (rewrite_.is_removed(id)) continue;
      look_at(id);
      follow(graph_.nodes[id]);
    }
    rewrite_.finish();
  }

 private:
  // Does a step's data reach this tensor, rather than extents and constants alone?
  bool fed(TensorId tensor) const { return tensor != kNoTensor && fed_[tensor] != 0; }

  void follow(const Node& node) {
    const bool by_extents = has(node, OpRow::kShapeOf);
    const bool data = !by_extents && std::any_of(node.inputs.begin(), node.inputs.end(),
                                                 [&](TensorId in) { return fed(in); });
    for (const TensorId out : node.outputs) {
      if (out != kNoTensor && (data || has(node, OpRow::kRandom))) fed_[out] = 1;
    }
  }

  void look_at(NodeId id) {
    const std::vector<TensorId> inputs = graph_.nodes[id].inputs;  // marking moves nodes' inputs
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TensorId in = inputs[i];
      if (in == kNoTensor || fed(in)) continue;
      const Node& node = graph_.nodes[id];
      const bool recurrent = has(node, OpRow::kRecurrent);
      if (is_place(id, i) && !(recurrent && gather_gates(in))) mark(in);
    }
    look_at_affine(id);
  }

  bool is_place(NodeId id, size_t i) const {
    const Node& node = graph_.nodes[id];
    const auto& inputs = node.inputs;
    if (by_pytorch_ && has(node, OpRow::kNorm) && !kStatistics.at(rewrite_, id))
      return false;  // ones, of one without
    const bool contracts = kTensorProduct.at(rewrite_, id) && inputs.size() == 2;
    if (contracts || kMultiplies.at(rewrite_, id)) {
      const size_t other = i == 0 ? 1 : 0;
      return other < inputs.size() && fed(inputs[other]) && (i > 1 || rewrite_.rank(inputs[i]) > 1);
    }
    if (kLooksUp.at(rewrite_, id)) return i == 0 && fed(inputs[1]) && rewrite_.rank(inputs[0]) == 2;
    if (kAdds.at(rewrite_, id)) return inputs.size() == 2 && is_bias(inputs[1 - i], inputs[i]);
    const bool place = is_weight_place(node, i) || is_statistic_place(node, i);
    return i > 0 && place && fed(inputs[0]);
  }

  // A number for each channel of what a layer makes.
  bool is_bias(TensorId result, TensorId bias) const {
    const NodeId maker = rewrite_.producer(result);
    if (maker == kNoNode || !fed(result)) return false;
    const Node& layer = graph_.nodes[maker];
    const bool convolves = kConvolves.at(rewrite_, maker).has_value();
    const bool einsum = kTensorProduct.at(rewrite_, maker).has_value();
    if (!convolves && !einsum && !kMultiplies.at(rewrite_, maker)) return false;
    const auto weighs = [&](size_t i) {
      const TensorId in = i < layer.inputs.size() ? layer.inputs[i] : kNoTensor;
      return in != kNoTensor && weighs_[in] != 0;
    };
    if (!weighs(1) && !weighs(0)) return false;
    const size_t rank = rewrite_.rank(result), own = rewrite_.rank(bias);
    if (own == 0 || own > rank) return false;
    if (einsum) return own < rewrite_.rank(layer.inputs[weighs(1) ? 1 : 0]) && ends(result, bias);
    const size_t channels = convolves ? 1 : rank - 1;
    for (size_t axis = 0; axis < own; ++axis) {
      const auto extent = rewrite_.extent(bias, axis);
      const size_t at = rank - own + axis;
      if (!extent || (at == channels ? *extent != rewrite_.extent(result, at) : *extent != 1))
        return false;
    }
    return rank - own <= channels;
  }

  // Whether the extents of `bias` are the last ones of `result`: of heads and their features, where
  // a product of several axes made it.
  bool ends(TensorId result, TensorId bias) const {
    const size_t rank = rewrite_.rank(result), own = rewrite_.rank(bias);
    for (size_t axis = 0; axis < own; ++axis) {
      const auto extent = rewrite_.extent(bias, axis);
      if (!extent || extent != rewrite_.extent(result, rank - own + axis)) return false;
    }
    return true;
  }

  // normal * scale + shift, channel by channel, of what data become; and such a scale alone of
  // what is divided by a deviation. Numbers for three or four colours are no weights.
  void look_at_affine(NodeId id) {
    const bool scales = kScales.at(rewrite_, id).has_value();
    if (!scales && !kAdds.at(rewrite_, id)) return;
    const auto [data, own] = operands(graph_.nodes[id]);
    if (data == kNoTensor || !is_channels(own)) return;
    if (scales) {
      if (kNormal.of(rewrite_, data)) mark(own);
      return;
    }
    if (!kScales.of(rewrite_, data)) return;
    const auto [normal, scale] = operands(graph_.nodes[rewrite_.producer(data)]);
    if (normal == kNoTensor || graph_.tensors[scale].shape != graph_.tensors[own].shape) return;
    mark(own);
    mark(scale);
  }

  // Of a node of two, what data reach and what they do not.
  std::pair<TensorId, TensorId> operands(const Node& node) const {
    if (node.inputs.size() != 2) return {kNoTensor, kNoTensor};
    const size_t data = fed(node.inputs[0]) ? 0 : 1;
    const TensorId own = node.inputs[1 - data];
    const bool both = own == kNoTensor || fed(own) || !fed(node.inputs[data]);
    return both ? std::pair{kNoTensor, kNoTensor} : std::pair{node.inputs[data], own};
  }

  bool is_channels(TensorId tensor) const {
    constexpr int64_t kColours = 4;
    const Tensor& t = graph_.tensors[tensor];
    const auto count = t.shape ? elements(*t.shape).constant() : std::nullopt;
    return is_along_one_axis(t) && count && *count > kColours;
  }

  // Whether a gate's array, or all gates, are made of arrays of the file: one weight from now on.
  bool gather_gates(TensorId tensor) {
    if (!made_of_arrays(tensor)) return false;
    const NodeId maker = rewrite_.producer(tensor);
    if (maker == kNoNode || !graph_.tensors[tensor].shape) return false;
    rewrite_.make_constant(maker);
    become_weight(tensor);
    return true;
  }

  bool made_of_arrays(TensorId tensor) const {
    std::vector<TensorId> pending{tensor};
    for (size_t visited = 0; visited < pending.size(); ++visited) {
      const TensorId t = pending[visited];
      const NodeId maker = rewrite_.producer(t);
      if (t == kNoTensor || visited > 256) return false;
      if (maker == kNoNode) {
        const Tensor& array = graph_.tensors[t];
        const bool written = array.kind == TensorKind::kParameter &&
                             (array.origin == Origin::kGenerated || !by_pytorch_);
        if (!written) return false;
        continue;
      }
      const auto& inputs = graph_.nodes[maker].inputs;
      const bool joins = kJoins.at(rewrite_, maker).has_value();
      if (!joins && !is_view(graph_.nodes[maker]) && !kPicks.at(rewrite_, maker)) return false;
      pending.insert(pending.end(), inputs.begin(), joins ? inputs.end() : inputs.begin() + 1);
    }
    return true;
  }

  // What `tensor` shows is a weight, if the file gives it: as an array or by its extents.
  void mark(TensorId tensor) {
    const TensorId own = behind_views(graph_, tensor);
    Tensor& t = graph_.tensors[own];
    if (!is_float(t.dtype) || !t.shape) return;
    if (t.kind == TensorKind::kParameter) {
      if (by_pytorch_ && t.origin != Origin::kGenerated) return;
    } else {
      const NodeId maker = rewrite_.producer(own);
      if (maker == kNoNode) return;
      if (!kConstant.at(rewrite_, maker)) return mark_factors(tensor);
      if (!elements(*t.shape).constant()) return;
      rewrite_.make_constant(maker);
    }
    become_weight(own);
    for (TensorId seen = tensor; seen != own;) {  // no longer known: views of it are not folded
      forget(graph_.tensors[seen]);
      weighs_[seen] = 1;
      seen = graph_.nodes[rewrite_.producer(seen)].inputs[0];
    }
  }

  // The file's arrays that a weight is computed of, and of nothing else. PyTorch's names tell more.
  void mark_factors(TensorId weight) {
    if (by_pytorch_) return;
    std::vector<TensorId> seen{weight}, arrays, made;
    for (size_t i = 0; i < seen.size(); ++i) {
      const TensorId t = seen[i];
      const NodeId maker = rewrite_.producer(t);
      if (i > 64 || fed(t)) return;
      if (maker == kNoNode || kConstant.at(rewrite_, maker)) {
        const auto& shape = graph_.tensors[t].shape;
        const auto count = shape ? elements(*shape).constant() : std::nullopt;
        if (count && *count > 1) arrays.push_back(t);
        continue;
      }
      const bool stacks =
          is_view(graph_.nodes[maker]) || kJoins.at(rewrite_, maker) || kPicks.at(rewrite_, maker);
      if (!stacks && !kComputes.at(rewrite_, maker)) return;
      made.push_back(t);
      for (const TensorId in : graph_.nodes[maker].inputs) {
        const bool numbers = in != kNoTensor && is_float(graph_.tensors[in].dtype);
        if (numbers && std::find(seen.begin(), seen.end(), in) == seen.end()) seen.push_back(in);
      }
    }
    for (const TensorId array : arrays) mark(array);
    for (const TensorId t : made) {
      forget(graph_.tensors[t]);
      weighs_[t] = arrays.empty() ? 0 : 1;
    }
  }

  static void forget(Tensor& t) {
    t.contents.reset();
    t.dims.clear();
    t.divisors.clear();
    t.has_dims = false;
  }

  void become_weight(TensorId tensor) {
    Tensor& t = graph_.tensors[tensor];
    forget(t);
    if (t.kind != TensorKind::kParameter) t.origin = Origin::kFolded;
    t.kind = TensorKind::kParameter;
    t.weight = true;
    weighs_[tensor] = 1;
  }

  Graph& graph_;
  Rewrite rewrite_;
  const bool by_pytorch_;
  std::vector<char> fed_;
  std::vector<char> weighs_;  // a weight, a view of one, or made of weights alone
};

}  // namespace

void find_written_weights(Graph& graph) { Search(graph).run(); }

}  // namespace plimsoll
