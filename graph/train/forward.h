// Forward: runs the nodes of a graph on eager Values. It owns what the nodes read and make:
// weights, buffers and inputs from the start, values from their maker to whoever lets go of them
// last.
//
//   Forward forward(graph, kinds, returned, machine);
//   forward.run(0, graph.nodes.size());
//   const Value& logits = forward[graph.outputs[0]];
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/eager/machine.h"
#include "graph/exporter/weight_roles.h"
#include "graph/parallel/strategies.h"
#include "graph/parallel/unit.h"
#include "graph/train/checkpointed_blocks.h"
#include "graph/train/language_head.h"

namespace plimsoll {

class Forward {
 public:
  // Makes the residents: trained parameters, buffers, constant tables, inputs. What is in
  // `returned` lives until release(); of weights this device has what `placements` leaves it.
  Forward(const Graph& graph, const std::vector<WeightRole>& kinds,
          const std::vector<TensorId>& returned, const parallel::Placements& placements,
          eager::Machine& machine);

  // From here on these blocks are checkpointed (checkpointed_blocks.h).
  Result<void> checkpoint(const std::string& which);

  // Nodes [first, last), in order; but the head, where the recipe's loss runs it.
  void run(NodeId first, NodeId last);
  // Nothing where none is left to the loss.
  const std::optional<LanguageHead>& head() const { return head_; }
  // Runs it over hidden states, of some positions or all.
  eager::Value scores_of(const eager::Value& hidden);
  // Drops all that nodes made, or hands it over.
  void release();
  std::vector<eager::Value> take();
  // Drops everything but residents' own storage; for the end of a step.
  void clear() {
    values_.clear();
    packed_.clear();
  }

  eager::Value& operator[](TensorId id) { return values_[id]; }
  // The graph's tensors as they are stored: of a sharded weight in few bits the parameter that it
  // is packed in.
  std::vector<eager::Value> stored() const;
  const Graph& graph() const { return graph_; }
  size_t size() const { return values_.size(); }

 private:
  using Inputs = std::vector<std::pair<TensorId, eager::Value>>;

  std::optional<LanguageHead> loss_within_model() const;
  void find_data(const std::vector<TensorId>& returned);
  void release_after_last_use(const std::vector<WeightRole>& kinds, WeightRole kind);
  eager::Value weight(TensorId id, const parallel::Placements& placements);
  eager::Value gathered_weight(TensorId id, const Shape& shape, const Shape& part);
  eager::Value constant(TensorId id);
  eager::Value filled(TensorId id);
  void fill_targets(NodeId id);
  std::vector<eager::Value> read_inputs(const Node& node, size_t host_from, bool& on_device);
  bool is_host_arithmetic(const Node& node) const;
  bool is_filled_here(const Node& node, TensorId out) const;
  void execute(NodeId id);
  Inputs inputs_of(const parallel::Unit& block) const;
  void run_block(const parallel::Unit& block);
  void recompute(const parallel::Unit& block, const Inputs& inputs, const eager::Region& region);

  const Graph& graph_;
  eager::Machine& machine_;
  std::vector<eager::Value> values_;
  std::map<TensorId, eager::Value> packed_;
  std::vector<bool> is_read_;
  std::vector<bool> read_as_data_;
  std::vector<bool> meets_data_;                     // read beside what inputs or weights make
  std::vector<std::vector<TensorId>> last_uses_;     // by node
  std::map<NodeId, std::vector<TensorId>> targets_;  // folded_targets()
  CheckpointedBlocks blocks_;
  std::optional<LanguageHead> head_;  // that is the loss's to run
};

}  // namespace plimsoll
