#include "graph/rewrite/cast.h"

#include <algorithm>
#include <set>
#include <utility>

#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

constexpr size_t kLongestRegion = 4096;

// Does it take weights, or another value, of the type of what it reads and of no other?
bool wants_one_type(const Node& node) { return has(node, OpRow::kOneType); }

bool shows_its_input(const Node& node) { return has(node, OpRow::kSharesStorage); }

// Finds which values of a graph stay in single precision.
class Widened {
 public:
  explicit Widened(const Graph& graph)
      : graph_(graph), readers_(graph), single_(graph.tensors.size(), 0) {
    for (NodeId id = 0; id < graph.nodes.size(); ++id) visit(graph.nodes[id]);
  }

  bool operator[](TensorId id) const { return single_[id] != 0; }

  // x.to(y.dtype), which an exporter wrote as a Cast.
  bool is_given_its_type(const Node& node) const {
    const bool put_back = node.notes.widens || node.notes.narrows;
    return !put_back && widens(node) && is_single_type(node.inputs[0]) &&
           !single_[node.inputs[0]] && !single_[node.outputs[0]] && is_array(node.inputs[0]);
  }

 private:
  bool is_single_type(TensorId t) const {
    return t != kNoTensor && graph_.tensors[t].dtype == DType::kFloat32;
  }
  bool widens(const Node& node) const {
    return has(node, OpRow::kConversion) && is_single_type(node.outputs[0]);
  }

  // A number widens nothing.
  bool is_array(TensorId t) const {
    const auto& shape = graph_.tensors[t].shape;
    return !graph_.tensors[t].has_dims && shape && !shape->empty();
  }

  void visit(const Node& node) {
    const auto wide = [&](TensorId in) { return in != kNoTensor && single_[in] && is_array(in); };
    bool single = std::any_of(node.inputs.begin(), node.inputs.end(), wide);
    // A second cast goes back to where the first came from.
    if (widens(node)) single = !single_[node.inputs[0]] && !meets_cast_weights(node.outputs[0]);
    if (node.notes.widens) single = true;
    if (node.notes.narrows) single = false;
    if (!single) return;
    for (const TensorId out : node.outputs) {
      if (is_single_type(out)) single_[out] = 1;
    }
  }

  // Of the operands of one operator some lie in the region; is another of the other type?
  bool meets_another_type(const Node& node, const std::set<TensorId>& region) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId in) {
      return is_single_type(in) && !region.contains(in) && !single_[in] && !comes_of_cast(in);
    });
  }

  bool comes_of_cast(TensorId t) const {
    while (graph_.tensors[t].producer != kNoNode) {
      const Node& maker = graph_.nodes[graph_.tensors[t].producer];
      if (!shows_its_input(maker)) return widens(maker);
      t = maker.inputs[0];
    }
    return false;
  }

  // Would what is computed from `widened`, up to the next casts, meet what has the other type where
  // that cannot be?
  bool meets_cast_weights(TensorId widened) const {
    std::set<TensorId> region{widened};
    // Each with whether a cast that was put back has widened it once more.
    std::vector<std::pair<TensorId, bool>> pending{{widened, false}};
    for (size_t visited = 0; visited < pending.size() && visited < kLongestRegion; ++visited) {
      const auto [value, again] = pending[visited];
      for (const NodeId reader : readers_[value]) {
        const Node& node = graph_.nodes[reader];
        const bool goes_on = node.notes.widens || (node.notes.narrows && again);
        if (has(node, OpRow::kConversion) && !goes_on) continue;
        if (wants_one_type(node) && meets_another_type(node, region)) return true;
        for (const TensorId out : node.outputs) {
          if (!is_single_type(out) || !region.insert(out).second) continue;
          pending.emplace_back(out, node.notes.widens || (again && !node.notes.narrows));
        }
      }
    }
    return false;
  }

  const Graph& graph_;
  Consumers readers_;
  std::vector<char> single_;
};

// Most of its weights, for modules that are sensitive may have been left in single precision.
bool is_in_16_bits(const Graph& graph) {
  size_t half = 0, single = 0;
  for (const Tensor& t : graph.tensors) {
    if (t.kind != TensorKind::kParameter || !t.shape || t.shape->size() < 2) continue;
    half += t.dtype == DType::kFloat16 || t.dtype == DType::kBFloat16;
    single += t.dtype == DType::kFloat32;
  }
  return half > single;
}

// Weights and statistics of batch norms.
std::vector<bool> of_batch_norms(const Graph& graph) {
  std::vector<bool> theirs(graph.tensors.size());
  for (const Node& node : graph.nodes) {
    if (!is_batch_norm(node)) continue;
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != kNoTensor) theirs[node.inputs[i]] = true;
    }
  }
  return theirs;
}

}  // namespace

size_t drop_given_casts(Graph& graph) {
  const Widened stays(graph);
  size_t count = 0;
  for (Node& node : graph.nodes) {
    if (!stays.is_given_its_type(node)) continue;
    node.op = "Identity";
    node.attributes = {};
    ++count;
  }
  return count;
}

void cast(Graph& graph, DType to, bool batch_norms_too) {
  if (is_in_16_bits(graph)) return;
  const Widened stays(graph);
  const std::vector<bool> norms =
      batch_norms_too ? std::vector<bool>(graph.tensors.size()) : of_batch_norms(graph);
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    Tensor& tensor = graph.tensors[id];
    if (tensor.dtype == DType::kFloat32 && !stays[id] && !norms[id]) tensor.dtype = to;
  }
}

}  // namespace plimsoll
