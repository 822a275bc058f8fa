// Branches that each begin with an activation of what they share (NASNet's and PNASNet's cells), or
// each drop or compare it, which exporters find equal and write once: each branch computes its own.
//
//   cell.left.act(x) -> cell.left.conv, cell.right.conv   where x was made before both calls
//
// What a call makes of its argument and goes on to read is its own, not its neighbours'.
//
// And the two sides of a loss that are one value, as an exporter that drops detach() finds them:
//
//   mse_loss(z.detach(), self.predict(h.detach()))     where z = self.predict(h)
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "graph/ops/op_row.h"
#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

constinit const Fragment kMerged(
    "y = Relu|LeakyRelu|Elu|Gelu|HardSwish|Silu|Mish|Not|Dropout|Greater|GreaterOrEqual|Less|"
    "LessOrEqual|Equal(_)");
constinit const Fragment kExtents("y = Shape(_)");

bool is_within(std::string_view module, std::string_view call) {
  return module.starts_with(call) && (module.size() == call.size() || module[call.size()] == '.');
}

// The outermost module that `module` is in and `other` is not: "cell.right" of "cell.right.conv"
// beside "cell.left".
std::string_view apart_from(std::string_view module, std::string_view other) {
  size_t end = module.find('.');
  while (end != module.npos && is_within(other, module.substr(0, end)))
    end = module.find('.', end + 1);
  return module.substr(0, end);
}

class Merged {
 public:
  explicit Merged(Finder& finder) : f_(finder), r_(finder.r) {
    for (NodeId id = 0; id < r_.nodes(); ++id) {
      if (!r_.is_removed(id)) ++nodes_in_[r_.node(id).module];
    }
  }

  void take_apart(NodeId id) {
    const TensorId x = r_.node(id).inputs[0];
    const TensorId y = r_.node(id).outputs[0];
    const std::string call = call_of(id);
    if (call.empty() || r_.tensor(y).kind != TensorKind::kValue || makes(call, x)) return;
    std::map<std::string, NodeId> branches;  // the first reader of each
    bool read_here = false;
    for (const NodeId reader : r_.readers(y)) {
      const std::string& module = r_.node(reader).module;
      if (kExtents.at(r_, reader)) continue;
      if (is_within(module, call)) {
        read_here = true;
        continue;
      }
      // Code around the call reads it: the call returned it.
      if (is_within(call, module) || makes(apart_from(module, call), x)) return;
      const auto [at, added] = branches.emplace(apart_from(module, call), reader);
      if (!added) at->second = std::min(at->second, reader);
    }
    if (!read_here || r_.uses(y) != r_.readers(y).size()) return;
    for (const auto& [branch, first] : branches) give_own(id, y, branch, first);
  }

 private:
  // The module whose code runs this activation: that of the layer, where it is a layer by itself.
  std::string call_of(NodeId id) const {
    const std::string& module = r_.node(id).module;
    const auto next = nodes_in_.upper_bound(module + ".");
    const bool alone =
        nodes_in_.at(module) == 1 && (next == nodes_in_.end() || !is_within(next->first, module));
    return alone ? module.substr(0, std::min(module.rfind('.'), module.size())) : module;
  }

  bool makes(std::string_view call, TensorId value) const {
    const NodeId maker = r_.producer(value);
    return maker != kNoNode && is_within(r_.node(maker).module, call);
  }

  void give_own(NodeId id, TensorId y, std::string_view branch, NodeId first) {
    const NodeId copy = r_.copy_before(first, id);
    // What writes over its input leaves nothing for an exporter to find equal.
    for (const NodeId each : {id, copy}) r_.graph().nodes[each].notes.in_place = 0;
    const std::vector<NodeId> readers = r_.readers(y);
    for (const NodeId reader : readers) {
      if (is_within(r_.node(reader).module, branch))
        r_.read_instead(reader, y, r_.node(copy).outputs[0]);
    }
    f_.note("activation of each branch", copy, r_.removed_count());
  }

  Finder& f_;
  Rewrite& r_;
  std::map<std::string, size_t> nodes_in_;  // by module
};

// Nobody asks how far a value is from itself: it was computed twice, by its last layer at least,
// the second time from what was detached, or no side would learn of the other. How much of what is
// before ran twice too, the file does not say. (The cross entropy of a distribution and itself is
// its entropy, and x - x.detach() is zero with a gradient: people write both.)
void compute_other_side(Finder& f, NodeId loss) {
  Rewrite& r = f.r;
  const TensorId side = r.node(loss).inputs[0];
  const NodeId maker = r.producer(side);
  if (maker == kNoNode || r.input_independent(side)) return;
  const TensorId from = r.node(maker).inputs[0];
  if (from == kNoTensor || r.tensor(from).kind != TensorKind::kValue) return;
  Node detach{.op = "Detach",
              .domain = "plimsoll",
              .name = r.node(loss).name,
              .module = r.node(loss).module,
              .attributes = {},
              .inputs = {from},
              .outputs = {}};
  const TensorId detached =
      r.insert_before(loss, std::move(detach), r.tensor(from).dtype, Shape(*r.tensor(from).shape));
  const NodeId copy = r.copy_before(loss, maker);
  r.read_at(copy, 0, detached);
  r.read_at(loss, 1, r.node(copy).outputs[0]);
  f.note("other side of a loss", copy, r.removed_count());
}

}  // namespace

void merged(Finder& f) {
  if (f.r.graph().exporter != Exporter::kPyTorch) return;
  const size_t before = f.r.nodes();
  for (NodeId id = 0; id < before; ++id) {
    if (f.r.is_removed(id) || !has(f.r.node(id), OpRow::kDistance)) continue;
    const std::vector<TensorId>& sides = f.r.node(id).inputs;
    if (sides[0] == sides[1]) compute_other_side(f, id);
  }
  Merged all(f);
  const size_t nodes = f.r.nodes();
  for (NodeId id = 0; id < nodes; ++id) {
    if (f.r.is_removed(id) || !kMerged.at(f.r, id)) continue;
    const TensorId y = f.r.node(id).outputs[0];
    if (f.r.readers(y).size() > 1 && !f.r.input_independent(y)) all.take_apart(id);
  }
}

}  // namespace plimsoll::patterns
