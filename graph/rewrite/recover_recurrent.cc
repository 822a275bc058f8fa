#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "graph/base/text.h"
#include "graph/ops/op_row.h"
#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

bool is_recurrent(const Rewrite& r, NodeId id) {
  return id != kNoNode && has(r.node(id), OpRow::kRecurrent);
}

// "lstm", "gru", "rnn_relu", "rnn_tanh"
std::string cell_of(const Node& node) {
  std::string cell = lower_case(node.op);
  if (cell != "rnn") return cell;
  const auto* activations = node.attributes.get<std::vector<std::string>>("activations");
  const bool relu = activations && !activations->empty() && activations->front() == "Relu";
  return cell + (relu ? "_relu" : "_tanh");
}

int64_t directions_of(const Node& node) {
  return node.attributes.string("direction", "forward") == "bidirectional" ? 2 : 1;
}

// The plumbing between layers and around their parameters.
constinit const Fragment kConcatenated("y = Concat(_)");
constinit const Fragment kMoved("y = Slice|Unsqueeze|Transpose|Squeeze|Reshape(x)");
constinit const Fragment kSwapped("y = Transpose(x) {perm=[1,0,2]}");
constinit const Fragment kSqueezed("y = Squeeze(_)"), kTurnedResult("y = Transpose(_)");
constinit const Fragment kFlattened("y = Reshape(_)");
constinit const Fragment kDropped("y = Dropout(x, ratio?)");
constinit const Fragment kFlatResult("y = Squeeze|Reshape(Transpose?(x))");

// The parameters that `t` is cut and joined from, in the order they first appear; nothing where
// something else feeds it.
std::optional<std::vector<TensorId>> parameters_behind(const Rewrite& r, TensorId t) {
  std::vector<TensorId> found;
  std::vector<TensorId> pending{t};
  for (size_t visited = 0; !pending.empty() && visited < 256; ++visited) {
    const TensorId at = pending.back();
    pending.pop_back();
    if (r.tensor(at).kind == TensorKind::kParameter) {
      if (std::find(found.begin(), found.end(), at) == found.end()) found.push_back(at);
      continue;
    }
    const NodeId id = r.producer(at);
    if (id == kNoNode) return std::nullopt;
    if (kConcatenated.at(r, id)) {
      pending.insert(pending.end(), r.node(id).inputs.rbegin(), r.node(id).inputs.rend());
    } else if (kMoved.at(r, id)) {
      pending.push_back(r.node(id).inputs[0]);
    } else {
      return std::nullopt;
    }
  }
  return found;
}

// Parameters that an exporter joined, and what they were before: layers that run several times
// share them.
using Parts = std::map<TensorId, std::vector<TensorId>>;

// New parameters of `shape` each in place of one that an exporter joined them to.
const std::vector<TensorId>& taken_apart(Rewrite& r, Parts& parts, TensorId joined, size_t count,
                                         const Shape& shape) {
  const auto [at, is_new] = parts.try_emplace(joined);
  for (size_t i = 0; is_new && i < count; ++i) {
    const Tensor& whole = r.tensor(joined);
    at->second.push_back(
        r.add_parameter(whole.name + "/part." + std::to_string(i), whole.dtype, shape));
  }
  return at->second;
}

// The matrix of each direction behind `t` [D, rows, columns]; nothing where they cannot be told.
std::optional<std::vector<TensorId>> matrices_behind(Rewrite& r, Parts& parts, TensorId t,
                                                     size_t directions) {
  auto found = parameters_behind(r, t);
  if (!found) return std::nullopt;
  const Shape shape = found->size() == 1 ? r.tensor((*found)[0]).shape.value_or(Shape{}) : Shape{};
  if (shape.size() == 3)
    found = taken_apart(r, parts, (*found)[0], directions, {shape[1], shape[2]});
  if (found->size() != directions) return std::nullopt;
  return found;
}

// Of one layer: w_ih, w_hh, b_ih, b_hh for each direction in turn, kNoTensor for biases it lacks;
// nothing where they cannot be told.
std::optional<std::vector<TensorId>> weights_of(Rewrite& r, Parts& parts, const Node& node) {
  const auto directions = static_cast<size_t>(directions_of(node));
  const auto w = matrices_behind(r, parts, node.inputs[1], directions);
  const auto u = matrices_behind(r, parts, node.inputs[2], directions);
  if (!w || !u) return std::nullopt;
  std::vector<TensorId> b;
  if (node.inputs.size() > 3 && node.inputs[3] != kNoTensor) {
    const auto behind = parameters_behind(r, node.inputs[3]);
    const auto& shape = r.tensor(node.inputs[3]).shape;
    if (!behind || !shape || shape->size() != 2) return std::nullopt;
    b = *behind;
    if (b.size() == 1) b = taken_apart(r, parts, b[0], 2 * directions, {floor_div((*shape)[1], 2)});
    if (b.size() != 2 * directions) return std::nullopt;
  }
  std::vector<TensorId> all;
  for (size_t d = 0; d < directions; ++d) {
    const bool bias = !b.empty();
    all.insert(all.end(),
               {(*w)[d], (*u)[d], bias ? b[2 * d] : kNoTensor, bias ? b[2 * d + 1] : kNoTensor});
  }
  return all;
}

// Zeros for a number of samples that the file fixes, which an exporter folded ("val_10"); a trained
// state is one for all samples.
bool is_folded_zero_state(const Rewrite& r, TensorId state) {
  const Tensor& t = r.tensor(state);
  return t.kind == TensorKind::kParameter && t.name.starts_with("val_") && r.extent(state, 1) != 1;
}

bool starts_at_zero(const Rewrite& r, const Node& node) {
  for (size_t i = 5; i < node.inputs.size(); ++i) {
    const TensorId state = node.inputs[i];
    if (state != kNoTensor && !r.input_independent(state) && !is_folded_zero_state(r, state))
      return false;
  }
  return true;
}

// From a layer's Y [T,D,N,H] to [T,N,D*H]: Squeeze, or Transpose and Reshape. The node that ends
// it, or kNoNode.
NodeId flattening_after(const Rewrite& r, const Node& layer) {
  const NodeId next = r.only_reader(layer.outputs[0]);
  if (kSqueezed.at(r, next)) return next;
  if (!kTurnedResult.at(r, next)) return kNoNode;
  const NodeId flat = r.only_reader(r.node(next).outputs[0]);
  const bool joins_directions = kFlattened.at(r, flat) && r.rank(r.node(flat).outputs[0]) == 3;
  return joins_directions ? flat : kNoNode;
}

// The layer whose flattened result this one reads, through dropout; kNoNode where it is the first.
NodeId layer_below(const Rewrite& r, const Node& node, double& dropout) {
  TensorId x = node.inputs[0];
  if (const auto drop = kDropped.of(r, x)) {
    dropout = (*drop)["ratio"] == kNoTensor ? 0.5 : r.number((*drop)["ratio"]).value_or(0.5);
    x = (*drop)["x"];
  }
  const NodeId below = r.producer(kFlatResult.in(r, x, "x"));
  return is_recurrent(r, below) ? below : kNoNode;
}

struct Stack {
  std::vector<NodeId> layers;  // first to last
  std::vector<TensorId> weights;
  double dropout = 0;
};

// The chain that ends in `last`, of one cell and width. All start from zeros, or a single layer
// starts from what it is given.
std::optional<Stack> stack_up_to(Finder& f, Parts& parts, NodeId last) {
  Rewrite& r = f.r;
  Stack stack;
  for (NodeId id = last; id != kNoNode;) {
    const Node& node = r.node(id);
    const Node& top = r.node(last);
    const bool same = cell_of(node) == cell_of(top) && directions_of(node) == directions_of(top) &&
                      r.extent(node.inputs[2], 2) == r.extent(top.inputs[2], 2);
    if (!same) break;
    if (node.attributes.string("direction", "") == "reverse") return std::nullopt;
    stack.layers.insert(stack.layers.begin(), id);
    const NodeId below = layer_below(r, node, stack.dropout);
    if (!starts_at_zero(r, node) && (below != kNoNode || id != last)) return std::nullopt;
    id = below;
  }
  for (const NodeId id : stack.layers) {
    const auto weights = weights_of(r, parts, r.node(id));
    if (!weights) return std::nullopt;
    stack.weights.insert(stack.weights.end(), weights->begin(), weights->end());
  }
  return stack;
}

// The last states of all layers as one tensor [layers * directions, N, H]: the layer's own where
// there is one, the joined ones otherwise. kNoTensor where nobody reads them; false where they are
// read in another way.
bool last_states(const Rewrite& r, const Stack& stack, size_t output, TensorId& state) {
  for (const NodeId id : stack.layers) {
    const Node& node = r.node(id);
    if (output >= node.outputs.size() || node.outputs[output] == kNoTensor) continue;
    const TensorId own = node.outputs[output];
    if (r.uses(own) == 0) continue;
    const NodeId reader = r.only_reader(own);
    const bool joined = kConcatenated.at(r, reader).has_value();
    const TensorId now = stack.layers.size() == 1 ? own
                         : joined                 ? r.node(reader).outputs[0]
                                                  : kNoTensor;
    if (now == kNoTensor || (state != kNoTensor && state != now)) return false;
    state = now;
  }
  return true;
}

// Does a layer above read what comes out at `flat`?
bool is_inner(const Rewrite& r, NodeId flat) {
  const auto& readers = r.readers(r.node(flat).outputs[0]);
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    if (kDropped.at(r, reader)) reader = r.only_reader(r.node(reader).outputs[0]);
    return is_recurrent(r, reader);
  });
}

// Where nobody joins the directions of its result, it stays as ONNX has it.
bool make_stack(Finder& f, Parts& parts, NodeId last) {
  Rewrite& r = f.r;
  const NodeId flat = flattening_after(r, r.node(last));
  if (flat != kNoNode && is_inner(r, flat)) return false;
  const auto stack = stack_up_to(f, parts, last);
  std::array<TensorId, 2> states{kNoTensor, kNoTensor};
  if (!stack || !last_states(r, *stack, 1, states[0]) || !last_states(r, *stack, 2, states[1]))
    return false;
  TensorId x = r.node(stack->layers.front()).inputs[0];
  NodeId end = flat;
  const auto in_front = kSwapped.of(r, x);
  const NodeId after = flat == kNoNode ? kNoNode : r.only_reader(r.node(flat).outputs[0]);
  const bool unread = r.uses(r.node(last).outputs[0]) == 0;
  const bool batch_first = in_front && (unread || kSwapped.at(r, after));
  if (batch_first) {
    x = (*in_front)["x"];
    end = after;
  }
  const size_t before = r.removed_count();
  const Node layer = r.node(last);
  std::vector<TensorId> inputs{x};
  inputs.insert(inputs.end(), stack->weights.begin(), stack->weights.end());
  if (!starts_at_zero(r, layer))
    inputs.insert(inputs.end(), layer.inputs.begin() + 5, layer.inputs.end());
  Node& node = r.replace(last, "plimsoll", "Recurrent", std::move(inputs));
  node.attributes.set("cell", cell_of(layer));
  node.attributes.set("layers", static_cast<int64_t>(stack->layers.size()));
  node.attributes.set("directions", directions_of(layer));
  node.attributes.set("batch_first", int64_t{batch_first});
  node.attributes.set("apart", int64_t{flat == kNoNode && !unread});
  node.attributes.set("dropout", stack->dropout);
  if (flat != kNoNode) r.move_output(r.node(end).outputs[0], last, 0);
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i] != kNoTensor) r.move_output(states[i], last, i + 1);
  }
  f.note("recurrent layers", last, before);
  return true;
}

}  // namespace

void recurrent(Finder& f) {
  Parts parts;
  const size_t count = f.r.nodes();
  for (NodeId id = 0; id < count; ++id) {
    if (!f.r.is_removed(id) && is_recurrent(f.r, id)) make_stack(f, parts, id);
  }
}

}  // namespace plimsoll::patterns
