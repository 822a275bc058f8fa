#include "graph/rewrite/attention_mask.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/base/among.h"
#include "graph/rewrite/pattern.h"

namespace plimsoll::patterns {
namespace {

constinit const Fragment kTriangle("y = Trilu(_)");
constinit const Fragment kCompared("y = Less|LessOrEqual|Greater|GreaterOrEqual(a, b)");

// Does a mask independent of inputs tell queries apart, hence is causal, or is it the same for all?
bool is_causal(const Rewrite& r, TensorId mask) {
  std::vector<TensorId> pending{mask};
  for (size_t visited = 0; !pending.empty() && visited < 64; ++visited) {
    const TensorId t = pending.back();
    pending.pop_back();
    const NodeId id = r.producer(t);
    if (id == kNoNode) continue;
    const Node& node = r.node(id);
    if (kTriangle.at(r, id)) return true;
    const size_t rank = r.rank(t);
    if (kCompared.at(r, id) && rank >= 2 && r.extent(t, rank - 1) != 1 &&
        r.extent(t, rank - 2) != 1)
      return true;
    pending.insert(pending.end(), node.inputs.begin(), node.inputs.end());
    std::erase(pending, kNoTensor);
  }
  return false;
}

constinit const Fragment kShiftedWidth("y = Sub(_, width)"), kDistance("y = Abs(_)");

// By how much the first two of known positions differ: an exporter has computed q - 512.
std::optional<int64_t> known_shift(const Tensor& a, const Tensor& b) {
  if (!a.has_dims || !b.has_dims || a.dims.size() < 2 || a.dims.size() != b.dims.size())
    return std::nullopt;
  const auto shift = (a.dims.front() - b.dims.front()).constant();
  return shift ? std::optional(std::abs(*shift)) : std::nullopt;
}

// How far from its query a key may be, by this comparison of positions: k > q - 512, |q - k| <= 64.
std::optional<int64_t> window_of(const Rewrite& r, NodeId id) {
  const auto compared = kCompared.at(r, id);
  if (!compared) return std::nullopt;
  const auto known = known_shift(r.tensor((*compared)["a"]), r.tensor((*compared)["b"]));
  if (known && *known >= 1) return known;
  for (const auto& [side, other] : {std::pair("a", "b"), std::pair("b", "a")}) {
    const TensorId shift = kShiftedWidth.in(r, (*compared)[side], "width");
    if (shift == kNoTensor && !kDistance.of(r, (*compared)[side])) continue;
    const auto width = r.number(shift == kNoTensor ? (*compared)[other] : shift);
    if (width && *width >= 1) return static_cast<int64_t>(*width);
  }
  return std::nullopt;
}

// Does a mask independent of inputs hide keys that are too far away? Hugging Face leaves it out
// where all keys are nearer than the window is wide (transformers/masking_utils.py).
bool hides_far_keys(const Finder& f, TensorId mask) {
  const Rewrite& r = f.r;
  std::optional<int64_t> window;
  std::vector<TensorId> pending{mask};
  for (size_t visited = 0; !pending.empty() && !window && visited < 64; ++visited) {
    const NodeId id = r.producer(pending.back());
    pending.pop_back();
    if (id == kNoNode) continue;
    window = window_of(r, id);
    for (const TensorId in : r.node(id).inputs) {
      if (in != kNoTensor && !r.tensor(in).has_dims) pending.push_back(in);
    }
  }
  const auto& shape = r.tensor(mask).shape;
  if (!window || !shape || shape->empty()) return false;
  return !f.decider || f.decider->at_most(Dim(*window), shape->back());
}

constinit const Fragment kFill("y = ConstantOfShape(_)"), kGrown("y = Expand(x)");

// A plain fill: a bias that happens to be constant, as t5's is between encoder and decoder.
bool is_fill(const Rewrite& r, TensorId t) {
  if (!r.input_independent(t) || r.is_host_number(t)) return false;
  if (kFill.of(r, t)) return true;
  if (const auto& known = r.tensor(t).contents; known && !known->reals.empty()) {
    const double first = known->reals[0];
    return std::all_of(known->reals.begin(), known->reals.end(),
                       [first](double value) { return value == first; });
  }
  return r.is_host_number(kGrown.in(r, t, "x"));
}

// The bias that a mask independent of inputs hides parts of; kNoTensor where it hides none.
TensorId masked_bias(const Rewrite& r, const Node& where) {
  if (!r.input_independent(where.inputs[0])) return kNoTensor;
  for (size_t i = 1; i < 3; ++i) {
    const TensorId bias = where.inputs[3 - i];
    if (r.is_host_number(where.inputs[i]) && (!r.input_independent(bias) || is_fill(r, bias)))
      return bias;
  }
  return kNoTensor;
}

// Each layer makes its causal mask anew, one for all samples, and hides parts of the bias with it.
// Exporters of graphs merge the layers' masks, and their masks have a row per sample.
TensorId own_mask(Finder& f, NodeId at, const Node& where, TensorId bias) {
  Rewrite& r = f.r;
  const TensorId condition = kGrown.in(r, where.inputs[0], "x");
  if (condition == kNoTensor || r.extent(condition, 0) != 1) return where.outputs[0];
  std::vector<TensorId> inputs = where.inputs;
  const auto insert = [&](Node node, TensorId like, Shape shape) {
    node.name = r.node(at).name;
    node.module = r.node(at).module;
    node.outputs.clear();
    const DType dtype = r.tensor(like).dtype;
    return r.insert_before(at, std::move(node), dtype, std::move(shape));
  };
  Node hides = where;
  if (const NodeId maker = r.producer(condition); maker != kNoNode)
    inputs[0] = insert(r.node(maker), condition, *r.tensor(condition).shape);
  hides.inputs = std::move(inputs);
  return insert(std::move(hides), bias, *r.tensor(bias).shape);
}

constinit const Fragment kSeen("y = Unsqueeze|Squeeze|Reshape|Expand(x)"), kCast("y = Cast(x)");

// What is seen in another shape, or cast to the type it has.
TensorId behind_views(const Rewrite& r, TensorId t) {
  while (true) {
    t = kSeen.behind(r, t);
    const TensorId before = kCast.in(r, t, "x");
    if (before == kNoTensor || r.tensor(before).dtype != r.tensor(t).dtype) return t;
    t = before;
  }
}

// A mask that somebody registered ("attn.mask"), which every call makes numbers of; not one that an
// exporter folded ("val_7", "onnx::Where_12").
bool is_registered(const Rewrite& r, TensorId t) {
  const Tensor& mask = r.tensor(t);
  return mask.kind == TensorKind::kParameter && mask.origin != Origin::kGenerated &&
         r.rank(t) >= 2 && mask.name.find('.') != mask.name.npos &&
         mask.name.find("::") == mask.name.npos;
}

constinit const Fragment kWhere("y = Where(_)");

enum class Maker : uint8_t { kExporter, kLibrary, kNetwork };

// The exporter's own numbers are "val_7", or have no name beside their node's.
bool is_numbered(const Rewrite& r, TensorId t) { return r.tensor(t).name.starts_with("val_"); }

// Hugging Face's forward() calls its inputs so.
bool has_library_inputs(const Graph& graph) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "input_ids",    "decoder_input_ids", "inputs_embeds", "attention_mask",
      "pixel_values", "input_values",      "input_features"};
  return std::ranges::any_of(graph.inputs,
                             [&](TensorId in) { return among(graph.tensors[in].name, kNames); });
}

// A triangle whose zeros are minus infinity: what TorchScript writes for is_causal
// (torch/onnx/symbolic_opset14.py, _causal_attention_mask).
constinit const Fragment kCausal("y = Where(Equal(Trilu(_), _), _, _)");

// Whose lines made it, where the exporter tells.
std::optional<Maker> maker_by_lines(const Rewrite& r, TensorId mask) {
  std::optional<Maker> maker;
  std::vector<TensorId> pending{mask};
  for (size_t visited = 0; visited < std::min<size_t>(pending.size(), 64); ++visited) {
    const NodeId id = r.producer(pending[visited]);
    if (id == kNoNode) continue;
    const std::string_view lines = r.node(id).notes.statements;
    for (const std::string_view file : {"masking_utils.py:", "modeling_attn_mask_utils.py:"}) {
      if (lines.find(file) != lines.npos) return Maker::kLibrary;
    }
    if (!lines.empty()) maker = Maker::kNetwork;
    for (const TensorId in : r.node(id).inputs) {
      if (in != kNoTensor) pending.push_back(in);
    }
  }
  return maker;
}

Maker maker_of(const Rewrite& r, TensorId mask) {
  const auto where = kWhere.of(r, mask);
  if (kCausal.of(r, mask) || (where && is_numbered(r, where->root().inputs[0])))
    return Maker::kExporter;
  if (r.graph().told) return Maker::kNetwork;  // the library has left out its own by then
  if (const auto maker = maker_by_lines(r, mask)) return *maker;
  return has_library_inputs(r.graph()) ? Maker::kLibrary : Maker::kNetwork;
}

// The numbers that each call makes of a mask of true and false, which exporters merge; a mask that
// is numbers already is read as it is.
TensorId numbers_of(Finder& f, NodeId at, TensorId mask) {
  const auto where = kWhere.of(f.r, mask);
  if (!where) return mask;
  const Node& first = f.r.node(f.r.first_reader(mask));
  const bool by_call = is_numbered(f.r, mask) || where->root().module == first.module;
  return by_call ? f.r.node(f.r.copy_before(at, where->at)).outputs[0] : mask;
}

}  // namespace

MaskOperand mask_operand(Finder& f, NodeId at, TensorId mask) {
  const Rewrite& r = f.r;
  if (mask == kNoTensor) return {};
  if (const auto where = kWhere.of(r, mask)) {
    const TensorId bias = masked_bias(r, where->root());
    if (bias != kNoTensor && !is_causal(r, where->root().inputs[0])) return {bias};
    if (bias != kNoTensor) return {own_mask(f, at, Node(where->root()), bias)};
  }
  if (const auto where = kWhere.of(r, behind_views(r, mask))) {
    if (is_registered(r, behind_views(r, where->root().inputs[0]))) return {mask};
  }
  if (!r.input_independent(mask) || is_fill(r, mask)) return {mask};
  const Maker maker = maker_of(r, mask);
  if (maker == Maker::kNetwork || (maker == Maker::kLibrary && hides_far_keys(f, mask)))
    return {numbers_of(f, at, mask)};
  return {kNoTensor, is_causal(r, mask)};
}

bool is_written_mask(const Rewrite& r, TensorId mask) {
  const auto where = kWhere.of(r, mask);
  if (!where) return false;
  const TensorId condition = where->root().inputs[0];
  return r.tensor(condition).name.find('/') == std::string::npos && !is_numbered(r, condition);
}

}  // namespace plimsoll::patterns
