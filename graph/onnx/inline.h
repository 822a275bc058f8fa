// From a file's graphs to one list of nodes: functions, the larger branch of an If and the
// iterations of Loops and Scans are written out in place.
#pragma once

#include <deque>
#include <unordered_map>

#include "graph/graph.h"
#include "graph/onnx/bag_loop.h"
#include "graph/onnx/expansion.h"
#include "graph/onnx/frame.h"
#include "graph/onnx/import.h"
#include "graph/onnx/model.h"
#include "graph/onnx/parameter.h"

namespace plimsoll::onnx {

bool is_sequence_operator(std::string_view op);

// Adds the model's initializers, nodes and outputs to a graph that has its inputs already. Takes
// strings out of the model. Nothing recurses: a stack of frames stands for the nesting.
class Inliner {
 public:
  Inliner(ModelSpec& model, const ImportOptions& options, Graph& graph, Diagnostics& warnings)
      : model_(model), options_(options), graph_(graph), warnings_(warnings), functions_(model) {}

  Result<void> run();

 private:
  GraphSpec& spec_of(const Frame& frame) { return model_.graphs[frame.graph]; }
  // "node 12 '/conv/Conv' (Conv)", counted as in the file.
  Place place(const Frame& frame, const NodeSpec& node) const;

  // Frames (inline.cc).
  Result<void> start();
  Result<void> push(Frame frame, bool with_constants = true);
  Result<void> declare_constants(Frame& frame);
  Result<void> declare_values(Frame& frame);
  Result<void> declare(Frame& frame, const std::string& name, Tensor tensor);
  Result<void> name_outputs(const Frame& main);
  Result<void> step();
  Result<void> finish();
  void tell() const;

  // Nodes (inline.cc).
  Result<void> visit(Frame& frame, NodeSpec& spec);
  Result<void> plain(Frame& frame, NodeSpec& spec);
  // Takes what the operator's row does not name from the node, and notes it.
  void drop_foreign(Node& node);
  Result<void> call(Frame& frame, const NodeSpec& spec, const FunctionSpec& function);
  Result<void> branch(Frame& frame, const NodeSpec& spec);
  Result<std::vector<TensorId>> inputs_of(const Frame& frame, const NodeSpec& spec) const;
  std::vector<TensorId> outputs_of(const Frame& frame, const NodeSpec& spec) const;
  Frame inner(const Frame& frame, const NodeSpec& spec, GraphIndex graph) const;
  Result<void> add(Node node);
  // A node made here, which stands for `frame`'s plumbing.
  Result<void> add(const Frame& frame, std::string op, std::vector<TensorId> inputs,
                   TensorId output, Attributes attributes = {});

  // Loops (inline_loop.cc).
  Result<void> loop(Frame& frame, const NodeSpec& spec);
  // The one operator that such a loop stands for.
  std::optional<Node> embedding_bag(const Frame& frame, const NodeSpec& spec,
                                    const BagLoop& loop) const;
  std::optional<std::vector<TensorId>> looked_up(TensorId rows) const;
  Result<void> add_bags(const Frame& frame, const NodeSpec& spec, const BagLoop& loop, Node node);
  Result<void> scan(Frame& frame, const NodeSpec& spec);
  Result<void> start_loop(Frame& frame, const NodeSpec& spec, LoopState state);
  Result<void> advance(Frame& frame);
  Result<void> iterate(Frame& frame);
  Result<void> stack_outputs(Frame& frame);
  // `parts` side by side along a new axis.
  Result<void> stack(const Frame& frame, const std::vector<TensorId>& parts, int64_t axis,
                     TensorId target);
  void receive(LoopState& state, const std::vector<TensorId>& results) const;
  std::optional<int64_t> asked_trips(const NodeSpec& spec) const;
  tl::unexpected<Diagnostics> unknown_trips(const Frame& frame, const NodeSpec& spec,
                                            std::string why) const;
  TensorId add_value(std::string name);
  // The one number a tensor holds, seen through casts and reshapes of one element, and through
  // comparisons of how long lists of extents are (the exporter's tile()).
  std::optional<int64_t> constant(TensorId tensor, int depth = 3) const;
  std::optional<int64_t> length(TensorId tensor) const;
  std::optional<int64_t> extent(TensorId extents, int64_t index) const;

  // Lists of tensors (inline_sequence.cc).
  Result<void> sequence(const Frame& frame, const NodeSpec& spec);
  Result<void> unpack_outputs();
  Result<void> split_to_list(const Frame& frame, const NodeSpec& spec,
                             const std::vector<TensorId>& inputs, TensorId target);
  Result<void> join_list(const Frame& frame, const NodeSpec& spec,
                         const std::vector<TensorId>& parts, TensorId target);
  // E802 where more elements of lists are copied than nodes are allowed: a loop that fills a list
  // makes a new one, and no node, each time.
  Result<void> charge(size_t elements);
  // The value `target` is the list of `elements` from now on.
  Result<void> hold(TensorId target, std::vector<TensorId> elements);
  // The list that the first of `inputs` is; null where it is none.
  const std::vector<TensorId>* list(const std::vector<TensorId>& inputs) const;
  std::optional<size_t> list_index(TensorId index, size_t size) const;
  tl::unexpected<Diagnostics> unknown_list(const Frame& frame, const NodeSpec& spec) const;

  ModelSpec& model_;
  const ImportOptions& options_;
  Graph& graph_;
  Diagnostics& warnings_;
  Functions functions_;
  std::vector<int64_t> expanded_;  // nodes of each graph, subgraphs and functions written out
  std::deque<Frame> stack_;        // references stay good while frames come and go on top
  std::unordered_map<TensorId, std::vector<TensorId>> lists_;
  size_t list_elements_ = 0;  // copied so far
  ParameterNotes notes_;
  int64_t chosen_branches_ = 0;
  std::string first_branch_;
  // Attributes that their operators do not have, and at how many nodes.
  std::map<std::pair<std::string, std::string>, int64_t> foreign_;
};

}  // namespace plimsoll::onnx
