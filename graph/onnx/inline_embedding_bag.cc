#include "graph/onnx/inline_embedding_bag.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/onnx/initializer.h"

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

std::string reduction_of(const NodeSpec* node) {
  if (!node || node->inputs.empty()) return {};
  if (node->op == "ReduceSum") return "sum";
  if (node->op == "ReduceMean") return "mean";
  return node->op == "ReduceMax" ? "max" : "";
}

std::optional<BagLoop> loop_of_look_ups(const GraphSpec& body) {
  if (body.inputs.size() != 2 || body.outputs.size() != 2) return std::nullopt;
  const NodeSpec* reduce = maker(body, body.outputs[1].name);
  const std::string reduction = reduction_of(reduce);
  if (reduction.empty()) return std::nullopt;
  const NodeSpec* rows = made_by(body, reduce->inputs[0], "Gather", 2);
  const NodeSpec* bag = rows ? made_by(body, rows->inputs[1], "Slice", 3) : nullptr;
  const NodeSpec* from = bag ? made_by(body, bag->inputs[1], "Unsqueeze", 1) : nullptr;
  const NodeSpec* begin = from ? made_by(body, from->inputs[0], "Gather", 2) : nullptr;
  if (!begin || begin->inputs[1] != body.inputs[0].name) return std::nullopt;
  BagLoop found{.table = rows->inputs[0],
                .indices = bag->inputs[0],
                .rows = {},
                .begins = begin->inputs[0],
                .reduction = reduction};
  for (const std::string* outside : {&found.table, &found.indices, &found.begins}) {
    if (maker(body, *outside)) return std::nullopt;
  }
  return found;
}

// Values of a body, seen into the branches of an If: the one that the file's own constants choose
// (the mode of the module, compared with each there is, where the exporter does not optimise), else
// the one that is taken where bags are not empty and not the last, which is the other.
class Branches {
 public:
  Branches(const ModelSpec& model, const GraphSpec& body) : model_(model), open_{&body} {}

  // Null where the value is from outside the body.
  const NodeSpec* maker_of(std::string_view value) {
    constexpr size_t kDeepest = 8;
    while (open_.size() <= kDeepest) {
      const NodeSpec* node = open_maker(value);
      const bool branches = node && node->op == "If" && node->extras && !node->inputs.empty();
      const auto* taken = !branches                       ? nullptr
                          : is_true(node->inputs.front()) ? node->extras->graph("then_branch")
                                                          : node->extras->graph("else_branch");
      if (!taken || model_.graphs[*taken].outputs.size() != 1) return node;
      open_.push_back(&model_.graphs[*taken]);
      value = open_.back()->outputs.front().name;
    }
    return nullptr;
  }

 private:
  const NodeSpec* open_maker(std::string_view value) const {
    const NodeSpec* node = nullptr;
    for (const GraphSpec* graph : open_) node = node ? node : maker(*graph, value);
    return node;
  }

  std::optional<int64_t> number(std::string_view value) const {
    const NodeSpec* node = open_maker(value);
    const bool constant = node && node->domain.empty() && node->op == "Constant";
    const auto tensor = constant ? constant_value(*node) : nullptr;
    if (!tensor || !tensor->contents || tensor->contents->integers.size() != 1) return std::nullopt;
    return tensor->contents->integers.front();
  }

  bool is_true(std::string_view condition) const {
    const NodeSpec* node = open_maker(condition);
    if (!node || node->op != "Equal" || node->inputs.size() != 2) return false;
    const auto a = number(node->inputs[0]), b = number(node->inputs[1]);
    return a && a == b;
  }

  const ModelSpec& model_;
  std::vector<const GraphSpec*> open_;
};

// Carried: the number of the bag and the list, in either order.
std::optional<BagLoop> loop_of_rows(const ModelSpec& model, const GraphSpec& body) {
  if (body.inputs.size() != 4 || body.outputs.size() != 3) return std::nullopt;
  BagLoop found;
  const auto append_of = [&](size_t output) {
    return made_by(body, body.outputs[output + 1].name, "SequenceInsert", 2);
  };
  if (!append_of(found.output)) found.output = 1;
  const NodeSpec* append = append_of(found.output);
  if (!append) return std::nullopt;
  Branches branches(model, body);
  const NodeSpec* reduce = branches.maker_of(append->inputs[1]);
  found.reduction = reduction_of(reduce);
  const NodeSpec* bag = found.reduction.empty() ? nullptr : branches.maker_of(reduce->inputs[0]);
  if (!bag || bag->op != "Slice" || bag->inputs.size() < 3) return std::nullopt;
  const NodeSpec* begin = branches.maker_of(bag->inputs[1]);
  if (!begin || begin->op != "Slice" || begin->inputs.empty()) return std::nullopt;
  found.rows = bag->inputs[0];
  found.begins = begin->inputs[0];
  if (branches.maker_of(found.rows) || branches.maker_of(found.begins)) return std::nullopt;
  return found;
}

}  // namespace

std::optional<BagLoop> bag_loop(const ModelSpec& model, const GraphSpec& body) {
  auto found = loop_of_look_ups(body);
  return found ? found : loop_of_rows(model, body);
}

}  // namespace plimsoll::onnx
