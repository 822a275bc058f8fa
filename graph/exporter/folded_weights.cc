#include "graph/exporter/folded_weights.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>

#include "graph/base/among.h"
#include "graph/exporter/weight_places.h"
#include "graph/ops/op_row.h"

namespace plimsoll {

namespace {

// What a weight leaves of one, computed at every step (RWKV's mixes).
constexpr std::string_view kRest = "sub";

bool is_folded(const Tensor& t, WeightRole kind) {
  return t.kind == TensorKind::kParameter && is_float(t.dtype) && kind == WeightRole::kConstant &&
         t.origin != Origin::kGenerated;
}

// A factor that an exporter folded is trained where what it scales is shifted by a trained tensor
// of the same extents: the two halves of an affine layer.
void find_folded_scales(const Graph& graph, std::vector<WeightRole>& kinds) {
  for (const Node& node : graph.nodes) {
    for (const TensorId shift : node.inputs) {
      if (!is_sum(node) || shift == kNoTensor || kinds[shift] != WeightRole::kTrained) continue;
      const TensorId product = beside(node, shift);
      const NodeId maker = product == kNoTensor ? kNoNode : graph.tensors[product].producer;
      if (maker == kNoNode || !is_product(graph.nodes[maker])) continue;
      for (const TensorId factor : graph.nodes[maker].inputs) {
        const Tensor& t = graph.tensors[factor];
        if (is_folded(t, kinds[factor]) && !t.contents && t.shape == graph.tensors[shift].shape)
          kinds[factor] = WeightRole::kTrained;
      }
    }
  }
}

// Which tensors hold something that training changes.
std::vector<char> trained_values(const Graph& graph, const std::vector<WeightRole>& kinds) {
  std::vector<char> trained(graph.tensors.size(), 0);
  for (TensorId id = 0; id < kinds.size(); ++id) trained[id] = kinds[id] == WeightRole::kTrained;
  for (const Node& node : graph.nodes) {
    const auto holds = [&](TensorId in) { return in != kNoTensor && trained[in] != 0; };
    if (has(node, OpRow::kShapeOf) || std::none_of(node.inputs.begin(), node.inputs.end(), holds))
      continue;
    for (const TensorId out : node.outputs) {
      if (out != kNoTensor) trained[out] = 1;
    }
  }
  return trained;
}

// What an exporter folded and every sample's features are multiplied with, a number for each
// channel or head, is a weight in another shape: layer scale (CaiT, PoolFormer, InceptionNeXt),
// Swin v2's logit scale. Only images that come in are normalised by constants.
void find_folded_factors(const Graph& graph, std::vector<WeightRole>& kinds) {
  const std::vector<char> trained = trained_values(graph, kinds);
  for (const Node& node : graph.nodes) {
    for (const TensorId factor : node.inputs) {
      if (!is_product(node) || factor == kNoTensor) continue;
      const Tensor& t = graph.tensors[factor];
      const TensorId data = beside(node, factor);
      const bool weighs =
          is_folded(t, kinds[factor]) && is_along_one_axis(t) && t.folded_by != kRest;
      if (weighs && data != kNoTensor && trained[data]) kinds[factor] = WeightRole::kTrained;
    }
  }
}

// The shift of such a factor, where both were folded: layer norm of channels as people write it.
void find_folded_shifts(const Graph& graph, std::vector<WeightRole>& kinds) {
  for (const Node& node : graph.nodes) {
    for (const TensorId shift : node.inputs) {
      if (!is_sum(node) || shift == kNoTensor) continue;
      const Tensor& t = graph.tensors[shift];
      const TensorId product = beside(node, shift);
      const NodeId maker = product == kNoTensor ? kNoNode : graph.tensors[product].producer;
      if (maker == kNoNode || !is_product(graph.nodes[maker]) || !is_folded(t, kinds[shift]))
        continue;
      for (const TensorId factor : graph.nodes[maker].inputs) {
        const bool scales = factor != kNoTensor && kinds[factor] == WeightRole::kTrained &&
                            graph.tensors[factor].kind == TensorKind::kParameter;
        if (scales && graph.tensors[factor].shape == t.shape) kinds[shift] = WeightRole::kTrained;
      }
    }
  }
}

// [1, N, D] or [N, 1, D]: rows of features, no square mask, no coordinates of at most four numbers.
bool is_rows(const Tensor& t) {
  if (!t.shape || t.shape->size() != 3 || t.contents) return false;
  const Shape& s = *t.shape;
  const Dim& rows = s[0] == Dim(1) ? s[1] : s[0];
  const auto width = s[2].constant();
  return (s[0] == Dim(1)) != (s[1] == Dim(1)) && width && *width > 4 && rows != s[2];
}

// Rows that every sample begins with: learned queries (DETR), latents (Perceiver).
void find_folded_tokens(const Graph& graph, std::vector<WeightRole>& kinds) {
  const Consumers readers(graph);
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    if (!is_folded(t, kinds[id]) || !is_rows(t) || readers[id].empty()) continue;
    const bool repeated = std::all_of(readers[id].begin(), readers[id].end(), [&](NodeId reader) {
      return has(graph.nodes[reader], OpRow::kRepeats);
    });
    if (repeated) kinds[id] = WeightRole::kTrained;
  }
}

// A folded array that the code of one module reads.
struct OwnArray {
  std::string_view module;
  TensorId id;
  bool operator<(const OwnArray& other) const { return module < other.module; }
};

std::vector<OwnArray> folded_arrays(const Graph& graph) {
  const Consumers readers(graph);
  std::vector<OwnArray> arrays;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    const bool folded = t.kind == TensorKind::kParameter && is_float(t.dtype) &&
                        t.origin == Origin::kFolded && t.shape && elements(*t.shape) != Dim(1);
    if (folded && !readers[id].empty())
      arrays.push_back({graph.nodes[readers[id].front()].module, id});
  }
  std::sort(arrays.begin(), arrays.end());
  return arrays;
}

// How many of a sorted range are in a module or in one inside it.
template <class Range, class Key>
std::ptrdiff_t count_within(const Range& sorted, const std::string& module, Key key) {
  const auto before = [&](const auto& one, const std::string& text) { return key(one) < text; };
  const auto from = [&](const std::string& text) {
    return std::lower_bound(sorted.begin(), sorted.end(), text, before);
  };
  constexpr char kPastDot = '.' + 1;
  return std::distance(from(module), from(module + '\0')) +
         std::distance(from(module + '.'), from(module + kPastDot));
}

// Has it as many elements as what it was made of?
bool keeps_elements(const Tensor& t) {
  static constexpr std::array<std::string_view, 6> kOperators = {"exp",     "neg",       "permute",
                                                                 "sigmoid", "unsqueeze", "view"};
  return among(t.folded_by, kOperators);
}

// Where a module lacks as many parameters as its code reads folded arrays, each array is one of
// them: Mamba's A of -exp(A_log), DeBERTa's q_bias seen by head. Those that have lost their extents
// on the way (a product of one with a table) stay.
void find_counted(const Graph& graph, std::vector<WeightRole>& kinds) {
  if (graph.unwritten.empty()) return;
  const std::vector<OwnArray> arrays = folded_arrays(graph);
  const std::vector<std::string_view> lacking(graph.unwritten.begin(), graph.unwritten.end());
  for (const OwnArray& array : arrays) {
    const Tensor& t = graph.tensors[array.id];
    if (!is_folded(t, kinds[array.id]) || t.contents || !keeps_elements(t)) continue;
    const std::string module(array.module);
    const auto read = count_within(arrays, module, [](const OwnArray& one) { return one.module; });
    const auto lacks = count_within(lacking, module, [](std::string_view name) { return name; });
    if (read == lacks) kinds[array.id] = WeightRole::kTrained;
  }
}

}  // namespace

std::set<TensorId> folded_numbers(const Graph& graph) {
  std::set<TensorId> numbers;
  for (const Node& node : graph.nodes) {
    for (const TensorId in : node.inputs) {
      if (in == kNoTensor) continue;
      const Tensor& t = graph.tensors[in];
      const bool number = t.kind == TensorKind::kParameter && is_float(t.dtype) && t.shape &&
                          elements(*t.shape) == Dim(1);
      if (number && !t.folded_by.empty()) numbers.insert(in);
    }
  }
  return numbers.size() <= graph.unwritten.size() ? numbers : std::set<TensorId>();
}

void find_folded_weights(const Graph& graph, std::vector<WeightRole>& kinds) {
  find_folded_scales(graph, kinds);
  find_folded_factors(graph, kinds);
  find_folded_shifts(graph, kinds);
  find_folded_tokens(graph, kinds);
  find_counted(graph, kinds);
}

}  // namespace plimsoll
