#include "graph/onnx/bag_loop.h"

#include <string_view>

namespace plimsoll::onnx {
namespace {

// The node of the body that makes a value; null where it is from outside.
const NodeSpec* maker(const GraphSpec& body, std::string_view value) {
  for (const NodeSpec& node : body.nodes) {
    if (node.outputs.size() == 1 && node.outputs.front() == value) return &node;
  }
  return nullptr;
}

// The same where the node runs `op` on as many inputs or more.
const NodeSpec* made_by(const GraphSpec& body, std::string_view value, std::string_view op,
                        size_t inputs) {
  const NodeSpec* node = maker(body, value);
  const bool right = node && node->domain.empty() && node->op == op;
  return right && node->inputs.size() >= inputs ? node : nullptr;
}

}  // namespace

std::optional<BagLoop> bag_loop(const GraphSpec& body) {
  if (body.inputs.size() != 2 || body.outputs.size() != 2) return std::nullopt;
  const NodeSpec* reduce = maker(body, body.outputs[1].name);
  if (!reduce || !reduce->op.starts_with("Reduce") || reduce->inputs.empty()) return std::nullopt;
  const NodeSpec* rows = made_by(body, reduce->inputs[0], "Gather", 2);
  const NodeSpec* bag = rows ? made_by(body, rows->inputs[1], "Slice", 3) : nullptr;
  const NodeSpec* from = bag ? made_by(body, bag->inputs[1], "Unsqueeze", 1) : nullptr;
  const NodeSpec* begin = from ? made_by(body, from->inputs[0], "Gather", 2) : nullptr;
  if (!begin || begin->inputs[1] != body.inputs[0].name) return std::nullopt;
  BagLoop found{rows->inputs[0], bag->inputs[0], begin->inputs[0], {}};
  for (const std::string* outside : {&found.table, &found.indices, &found.begins}) {
    if (maker(body, *outside)) return std::nullopt;
  }
  const std::string_view op = reduce->op;
  found.reduction = op == "ReduceSum" ? "sum" : op == "ReduceMean" ? "mean" : "max";
  const bool known = found.reduction != "max" || op == "ReduceMax";
  return known ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace plimsoll::onnx
