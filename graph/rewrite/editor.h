// Rewrite: a graph seen by a pattern. Patterns look backwards, from a node to what feeds it, and
// replace what they matched by one node; what nobody reads any more then goes.
//
//   Rewrite r(graph);
//   if (const Node* sigmoid = r.made_by(mul.inputs[1], "Sigmoid"); sigmoid && ...)
//     r.replace(id, "plimsoll", "Silu", {x});
//   r.finish();                             // drops removed nodes: node ids change here
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/graph.h"

namespace plimsoll {

class Rewrite {
 public:
  explicit Rewrite(Graph& graph);

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  size_t nodes() const { return graph_.nodes.size(); }
  const Node& node(NodeId id) const { return graph_.nodes[id]; }
  const Tensor& tensor(TensorId id) const { return graph_.tensors[id]; }
  bool is_removed(NodeId id) const { return removed_[id] != 0; }

  // The node that makes `tensor`, if it runs `op`; else null.
  const Node* made_by(TensorId tensor, std::string_view op) const;
  NodeId producer(TensorId tensor) const;
  // Reads of a tensor, and one more where the graph returns it; none of what nobody names.
  size_t uses(TensorId tensor) const;
  const std::vector<NodeId>& readers(TensorId tensor) const;
  // The one node that reads `tensor`; kNoNode where there are more, or the graph returns it.
  NodeId only_reader(TensorId tensor) const;

  // The reader that runs first, wherever it was inserted; kNoNode where nothing reads it.
  NodeId first_reader(TensorId tensor) const;

  // The value of a tensor of one known element.
  std::optional<double> number(TensorId tensor) const;
  bool is_number(TensorId tensor, double value) const;
  // Made of shapes and constants alone, whatever the inputs hold.
  bool input_independent(TensorId tensor) const { return independent_[tensor] != 0; }
  // One element, whatever the inputs hold: a number of the host, known or not.
  bool is_host_number(TensorId tensor) const;
  // Extents as whole numbers; nothing where unknown or symbolic.
  std::optional<int64_t> extent(TensorId tensor, size_t axis) const;
  size_t rank(TensorId tensor) const;

  // Node `at` becomes `op` of `inputs`; it keeps outputs, name and module.
  Node& replace(NodeId at, std::string_view domain, std::string_view op,
                std::vector<TensorId> inputs);
  // Before which node something runs right after the node that made `tensor`, and before all that
  // read it. Its first reader where either of them was inserted; kNoNode, the end, where nothing
  // comes behind the node and nothing reads the tensor.
  NodeId right_after(TensorId tensor) const;
  // A node to be inserted, of the name and module of `at`.
  Node beside(NodeId at, std::string_view domain, std::string_view op,
              std::vector<TensorId> inputs) const;
  // A new node just before `at`, behind all for kNoNode. Its output is a new tensor of the given
  // type.
  TensorId insert_before(NodeId at, Node node, DType dtype, Shape shape);
  // A copy of a node just before `at`, as part of the module and the calls that `at` belongs to.
  NodeId copy_before(NodeId at, NodeId of);
  // A new parameter.
  TensorId add_parameter(std::string name, DType dtype, Shape shape);
  // A new number of the host.
  TensorId add_number(double value);
  // Node `to` makes `tensor` as its output `index`, in place of the node that made it.
  void move_output(TensorId tensor, NodeId to, size_t index);
  // What a node makes stands for its known contents from now on; the node goes.
  void make_constant(NodeId id);
  // Nodes that nobody reads go, and what they alone read.
  void drop_unread();
  // `reader` reads `to` wherever it read `from`.
  void read_instead(NodeId reader, TensorId from, TensorId to);
  // `reader` reads `more` behind its other inputs.
  void add_input(NodeId reader, TensorId more);
  // `reader` reads `to` as its input `index`.
  void read_at(NodeId reader, size_t index, TensorId to);
  // Nodes that have died so far: what a pattern replaced is the difference.
  size_t removed_count() const { return removed_count_; }

  // Applies insertions and drops removed nodes. The Rewrite must not be used afterwards. Returns
  // for each old node its new id, or kNoNode.
  std::vector<NodeId> finish();

 private:
  TensorId add_tensor(Tensor tensor, bool independent);
  void remove_if_unused(NodeId id);
  void read(NodeId reader, TensorId tensor);
  void stop_reading(NodeId reader, const std::vector<TensorId>& inputs);
  bool unused(NodeId id) const;
  NodeId first_inserted() const {
    return static_cast<NodeId>(graph_.nodes.size() - inserted_.size());
  }
  // All nodes as they run: those inserted before a node, oldest first, come just before it.
  std::vector<NodeId> order() const;

  Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<size_t> is_output_;
  std::vector<char> independent_;
  std::vector<char> removed_;
  std::vector<std::pair<NodeId, NodeId>> inserted_;  // (before which, id of the new node)
  size_t removed_count_ = 0;
};

}  // namespace plimsoll
