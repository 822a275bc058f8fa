#include "graph/rewrite/editor.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "graph/ops/input_independent.h"

namespace plimsoll {

Rewrite::Rewrite(Graph& graph)
    : graph_(graph),
      readers_(graph.tensors.size()),
      is_output_(graph.tensors.size(), 0),
      removed_(graph.nodes.size(), 0) {
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const TensorId in : graph.nodes[id].inputs) read(id, in);
  }
  for (const TensorId out : graph.outputs) is_output_[out] = 1;
  independent_ = plimsoll::input_independent(graph);
}

NodeId Rewrite::producer(TensorId tensor) const {
  return tensor == kNoTensor ? kNoNode : graph_.tensors[tensor].producer;
}

const Node* Rewrite::made_by(TensorId tensor, std::string_view op) const {
  const NodeId id = producer(tensor);
  return id != kNoNode && graph_.nodes[id].op == op ? &graph_.nodes[id] : nullptr;
}

const std::vector<NodeId>& Rewrite::readers(TensorId tensor) const {
  static const std::vector<NodeId> kNone;
  return tensor == kNoTensor ? kNone : readers_[tensor];
}

size_t Rewrite::uses(TensorId tensor) const {
  return tensor == kNoTensor ? 0 : readers_[tensor].size() + is_output_[tensor];
}

NodeId Rewrite::only_reader(TensorId tensor) const {
  return uses(tensor) == 1 && !is_output_[tensor] ? readers_[tensor][0] : kNoNode;
}

std::optional<double> Rewrite::number(TensorId tensor) const {
  if (tensor == kNoTensor) return std::nullopt;
  const Tensor& t = graph_.tensors[tensor];
  if (t.contents && t.contents->reals.size() == 1) return t.contents->reals[0];
  if (t.contents && t.contents->integers.size() == 1) {
    return static_cast<double>(t.contents->integers[0]);
  }
  if (t.has_dims && t.dims.size() == 1 && t.dims[0].is_constant()) {
    const int64_t under = t.divisors.empty() ? 1 : t.divisors[0].constant().value_or(0);
    if (under != 0)
      return static_cast<double>(t.dims[0].constant_term()) / static_cast<double>(under);
  }
  return std::nullopt;
}

bool Rewrite::is_number(TensorId tensor, double value) const {
  const auto known = number(tensor);
  return known && std::abs(*known - value) <= 1e-3 * std::abs(value);
}

bool Rewrite::is_host_number(TensorId tensor) const {
  if (tensor == kNoTensor || !independent_[tensor]) return false;
  const Tensor& t = graph_.tensors[tensor];
  return t.shape && elements(*t.shape) == Dim(1);
}

std::optional<int64_t> Rewrite::extent(TensorId tensor, size_t axis) const {
  const auto& shape = graph_.tensors[tensor].shape;
  return shape && axis < shape->size() ? (*shape)[axis].constant() : std::nullopt;
}

size_t Rewrite::rank(TensorId tensor) const {
  const auto& shape = graph_.tensors[tensor].shape;
  return shape ? shape->size() : 0;
}

void Rewrite::read(NodeId reader, TensorId tensor) {
  if (tensor != kNoTensor) readers_[tensor].push_back(reader);
}

bool Rewrite::unused(NodeId id) const {
  const Node& node = graph_.nodes[id];
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](TensorId out) { return out == kNoTensor || uses(out) == 0; });
}

void Rewrite::stop_reading(NodeId reader, const std::vector<TensorId>& inputs) {
  std::vector<std::pair<NodeId, TensorId>> pending;
  for (const TensorId in : inputs) pending.emplace_back(reader, in);
  while (!pending.empty()) {
    const auto [by, tensor] = pending.back();
    pending.pop_back();
    if (tensor == kNoTensor) continue;
    auto& readers = readers_[tensor];
    const auto at = std::find(readers.begin(), readers.end(), by);
    if (at != readers.end()) readers.erase(at);
    const NodeId maker = producer(tensor);
    if (maker == kNoNode || removed_[maker] || !unused(maker)) continue;
    removed_[maker] = 1;
    ++removed_count_;
    for (const TensorId in : graph_.nodes[maker].inputs) pending.emplace_back(maker, in);
  }
}

void Rewrite::remove_if_unused(NodeId id) {
  if (removed_[id] || !unused(id)) return;
  removed_[id] = 1;
  ++removed_count_;
  stop_reading(id, graph_.nodes[id].inputs);
}

void Rewrite::drop_unread() {
  for (NodeId id = static_cast<NodeId>(graph_.nodes.size()); id-- > 0;) remove_if_unused(id);
}

Node& Rewrite::replace(NodeId at, std::string_view domain, std::string_view op,
                       std::vector<TensorId> inputs) {
  Node& node = graph_.nodes[at];
  const std::vector<TensorId> before = std::move(node.inputs);
  for (const TensorId in : inputs) read(at, in);
  node.inputs = std::move(inputs);
  node.domain = domain;
  node.op = op;
  node.attributes = {};
  NodeNotes kept;
  kept.calls = std::move(node.notes.calls);
  kept.statements = std::move(node.notes.statements);
  kept.no_autocast = node.notes.no_autocast;
  kept.no_grad = node.notes.no_grad;
  kept.on_device = node.notes.on_device;
  kept.in_place = node.notes.in_place;
  node.notes = std::move(kept);
  stop_reading(at, before);
  return node;
}

TensorId Rewrite::add_tensor(Tensor tensor, bool independent) {
  readers_.emplace_back();
  is_output_.push_back(0);
  independent_.push_back(independent ? 1 : 0);
  return graph_.add_tensor(std::move(tensor));
}

TensorId Rewrite::add_parameter(std::string name, DType dtype, Shape shape) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.kind = TensorKind::kParameter;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  return add_tensor(std::move(tensor), false);
}

TensorId Rewrite::add_number(double value) {
  Tensor tensor;
  tensor.kind = TensorKind::kParameter;
  tensor.dtype = DType::kFloat32;
  tensor.shape = Shape{};
  tensor.contents = std::make_shared<Contents>(Contents{.integers = {}, .reals = {value}});
  tensor.origin = Origin::kGenerated;
  return add_tensor(std::move(tensor), true);
}

Node Rewrite::beside(NodeId at, std::string_view domain, std::string_view op,
                     std::vector<TensorId> inputs) const {
  Node node{.op = std::string(op),
            .domain = std::string(domain),
            .name = graph_.nodes[at].name,
            .module = graph_.nodes[at].module,
            .attributes = {},
            .inputs = std::move(inputs),
            .outputs = {}};
  node.notes.no_grad = graph_.nodes[at].notes.no_grad;
  return node;
}

TensorId Rewrite::insert_before(NodeId at, Node node, DType dtype, Shape shape) {
  Tensor tensor;
  tensor.name = node.name;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  const bool independent = std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId in) {
    return in == kNoTensor || independent_[in];
  });
  const TensorId out = add_tensor(std::move(tensor), independent);
  // It runs in the calls of what is beside it or of what it reads, whose module it says it is in.
  const bool reads = !node.inputs.empty() && node.inputs[0] != kNoTensor;
  const NodeId maker = reads ? graph_.tensors[node.inputs[0]].producer : kNoNode;
  for (const NodeId near : {at, maker}) {
    if (near == kNoNode || !node.notes.calls.empty()) continue;
    if (node.module != graph_.nodes[near].module) continue;
    node.notes.calls = graph_.nodes[near].notes.calls;
    node.notes.statements = graph_.nodes[near].notes.statements;
  }
  node.outputs = {out};
  const NodeId id = graph_.add_node(std::move(node));
  removed_.push_back(0);
  for (const TensorId in : graph_.nodes[id].inputs) read(id, in);
  inserted_.emplace_back(at, id);
  return out;
}

NodeId Rewrite::copy_before(NodeId at, NodeId of) {
  Node copy = graph_.nodes[of];
  const Node& near = graph_.nodes[at];
  copy.module = near.module;
  copy.notes.calls = near.notes.calls;
  copy.notes.statements = near.notes.statements;
  if (copy.name.starts_with('/') && near.name.starts_with('/'))  // the path of calls to it
    copy.name = near.name.substr(0, near.name.rfind('/')) + copy.name.substr(copy.name.rfind('/'));
  for (TensorId& out : copy.outputs) {
    if (out == kNoTensor) continue;
    const bool independent = independent_[out] != 0;
    out = add_tensor(graph_.tensors[out], independent);
  }
  const NodeId id = graph_.add_node(std::move(copy));
  removed_.push_back(0);
  for (const TensorId in : graph_.nodes[id].inputs) read(id, in);
  inserted_.emplace_back(at, id);
  return id;
}

void Rewrite::move_output(TensorId tensor, NodeId to, size_t index) {
  const NodeId from = producer(tensor);
  auto& before = graph_.nodes[from].outputs;
  std::replace(before.begin(), before.end(), tensor, kNoTensor);
  auto& after = graph_.nodes[to].outputs;
  if (after.size() <= index) after.resize(index + 1, kNoTensor);
  after[index] = tensor;
  graph_.tensors[tensor].producer = to;
  if (from != to) remove_if_unused(from);
}

void Rewrite::make_constant(NodeId id) {
  for (TensorId& out : graph_.nodes[id].outputs) {
    if (out == kNoTensor) continue;
    Tensor& t = graph_.tensors[out];
    t.producer = kNoNode;
    out = kNoTensor;
  }
  remove_if_unused(id);
}

void Rewrite::read_instead(NodeId reader, TensorId from, TensorId to) {
  auto& inputs = graph_.nodes[reader].inputs;
  std::vector<TensorId> given_up;
  for (TensorId& in : inputs) {
    if (in != from) continue;
    in = to;
    read(reader, to);
    given_up.push_back(from);
  }
  stop_reading(reader, given_up);
}

void Rewrite::add_input(NodeId reader, TensorId more) {
  graph_.nodes[reader].inputs.push_back(more);
  read(reader, more);
}

void Rewrite::read_at(NodeId reader, size_t index, TensorId to) {
  const TensorId before = std::exchange(graph_.nodes[reader].inputs[index], to);
  read(reader, to);
  stop_reading(reader, {before});
}

std::vector<NodeId> Rewrite::order() const {
  std::vector<std::vector<NodeId>> before(graph_.nodes.size());
  std::vector<NodeId> last;
  for (const auto& [at, id] : inserted_) (at == kNoNode ? last : before[at]).push_back(id);
  std::vector<NodeId> order;
  order.reserve(graph_.nodes.size());
  std::vector<NodeId> pending;  // the next one last; a node comes after what goes before it
  for (size_t i = 0; i < first_inserted() + last.size(); ++i) {
    pending.push_back(i < first_inserted() ? static_cast<NodeId>(i) : last[i - first_inserted()]);
    while (!pending.empty()) {
      const NodeId next = pending.back();
      if (before[next].empty()) {
        order.push_back(next);
        pending.pop_back();
      } else {
        pending.insert(pending.end(), before[next].rbegin(), before[next].rend());
        before[next].clear();
      }
    }
  }
  return order;
}

NodeId Rewrite::first_reader(TensorId tensor) const {
  const std::vector<NodeId>& all = readers(tensor);
  if (all.empty()) return kNoNode;
  if (std::ranges::max(all) < first_inserted()) return std::ranges::min(all);
  for (const NodeId id : order()) {
    if (std::ranges::find(all, id) != all.end()) return id;
  }
  return kNoNode;
}

NodeId Rewrite::right_after(TensorId tensor) const {
  const NodeId maker = graph_.tensors[tensor].producer;
  const NodeId reader = first_reader(tensor);
  if (reader == kNoNode) return maker + 1 < first_inserted() ? maker + 1 : kNoNode;
  return maker < first_inserted() && reader < first_inserted() ? maker + 1 : reader;
}

std::vector<NodeId> Rewrite::finish() {
  std::vector<NodeId> new_id(graph_.nodes.size(), kNoNode);
  if (removed_count_ == 0 && inserted_.empty()) {
    std::iota(new_id.begin(), new_id.end(), NodeId{0});
    return new_id;
  }
  std::vector<Node> nodes;
  nodes.reserve(graph_.nodes.size());
  for (const NodeId id : order()) {
    if (removed_[id]) continue;
    new_id[id] = static_cast<NodeId>(nodes.size());
    nodes.push_back(std::move(graph_.nodes[id]));
  }
  graph_.nodes = std::move(nodes);
  for (Tensor& t : graph_.tensors) {
    if (t.producer != kNoNode) t.producer = new_id[t.producer];
  }
  return new_id;
}

}  // namespace plimsoll
