// SplitLayers: fully connected layers of which each device holds a part of the outputs' weights and
// applies it to the samples of all (Krizhevsky, "One weird trick for parallelizing convolutional
// neural networks", arXiv:1404.5997). Devices are those along Axis::kData.
//
//   x [samples, in] -> all-gather -> [devices * samples, in]
//     -> the layer's part -> [devices * samples, outputs / devices]
//     -> all-to-all -> [samples, outputs]
#pragma once

#include <map>

#include "graph/eager/machine.h"
#include "graph/ir/graph.h"

namespace plimsoll::parallel {

class SplitLayers : public eager::Observer {
 public:
  // `split`: the weights of which a device has a part alone. All outlive it.
  SplitLayers(eager::Machine& m, const Graph& graph, const std::map<TensorId, Placement>& split)
      : m_(m), graph_(graph), split_(split) {}

  void before_node(NodeId node, std::vector<eager::Value>& inputs) override;
  void after_node(NodeId node, std::vector<eager::Value>& outputs) override;

 private:
  // Null where the node is of no such layer.
  const Placement* placed(NodeId node) const;

  eager::Machine& m_;
  const Graph& graph_;
  const std::map<TensorId, Placement>& split_;
};

}  // namespace plimsoll::parallel
