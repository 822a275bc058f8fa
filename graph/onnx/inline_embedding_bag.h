// torch.nn.EmbeddingBag as PyTorch's exporters write it: a loop over bags, of which the file does
// not say how many there are. With the older one each iteration cuts one bag from a list of
// indices, looks its rows up in a table and reduces them; with the newer one all rows are looked up
// before the loop, which cuts a bag of rows, reduces it and appends it to a list. That look-up
// stays in the imported graph, unread, until recover() drops it.
#pragma once

#include <optional>
#include <string>

#include "graph/onnx/model.h"

namespace plimsoll::onnx {

// Names of values outside the loop, and how a bag's rows become one: "sum", "mean" or "max". `rows`
// where they are looked up before it, else `table` and `indices`.
struct BagLoop {
  std::string table, indices, rows, begins, reduction;
  size_t output = 0;  // of the loop, which has the bags
};

// Nothing where a Loop's body does anything else. Cost: linear in the body's nodes.
std::optional<BagLoop> bag_loop(const ModelSpec& model, const GraphSpec& body);

}  // namespace plimsoll::onnx
