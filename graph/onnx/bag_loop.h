// torch.nn.EmbeddingBag as PyTorch's exporter writes it: a loop over bags, of which the file does
// not say how many there are. Each iteration cuts one bag from a list of indices, looks its rows up
// in a table and reduces them.
#pragma once

#include <optional>
#include <string>

#include "graph/onnx/model.h"

namespace plimsoll::onnx {

// Names of values outside the loop, and how a bag's rows become one: "sum", "mean" or "max".
struct BagLoop {
  std::string table, indices, begins, reduction;
};

// Nothing where a Loop's body does anything else. Cost: linear in the body's nodes.
std::optional<BagLoop> bag_loop(const GraphSpec& body);

}  // namespace plimsoll::onnx
