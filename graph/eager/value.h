// Value: a tensor as eager code holds it: a layout (type, sizes, strides), a counted reference to a
// storage, and the autograd node that made it. There is no data. When the last reference to a
// storage goes, the storage is freed: C++'s own reference counts re-enact the framework's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/eager/layout.h"
#include "graph/ir/parallel_plan.h"
#include "graph/ir/step.h"

namespace plimsoll::eager {

class Machine;

class Storage {
 public:
  Storage(Machine* machine, BufferId id) : machine_(machine), id_(id) {}
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  // kNoBuffer while it has no memory: released, or not bound yet (Machine::bind()).
  BufferId id() const { return id_; }

 private:
  friend class Machine;
  Machine* machine_;
  BufferId id_;
};
using StorageRef = std::shared_ptr<Storage>;

struct GradNode;
using GradNodeRef = std::shared_ptr<GradNode>;

class Value {
 public:
  Value() = default;
  Value(LayoutRef layout, StorageRef storage)
      : layout_(std::move(layout)), storage_(std::move(storage)) {}

  bool defined() const { return layout_ != nullptr; }
  // A number computed from shapes, or a constant scalar: it owns no device storage.
  bool on_device() const { return storage_ != nullptr; }
  const Layout& layout() const { return *layout_; }
  const LayoutRef& layout_ref() const { return layout_; }
  const StorageRef& storage() const { return storage_; }
  DType dtype() const { return layout_->dtype; }
  const Shape& sizes() const { return layout_->sizes; }
  const Shape& strides() const { return layout_->strides; }
  size_t rank() const { return layout_->sizes.size(); }
  const Dim& count() const { return layout_->count; }
  bool contiguous() const { return layout_->contiguous; }
  const Dim& bytes() const { return layout_->bytes; }

  bool requires_grad() const { return grad_ != nullptr; }
  const GradNodeRef& grad() const { return grad_; }
  uint32_t grad_output() const { return grad_output_; }
  void set_grad(GradNodeRef grad, uint32_t output) {
    grad_ = std::move(grad);
    grad_output_ = output;
  }
  // The same elsewhere, or nowhere for now.
  Value with_storage(StorageRef storage) const {
    Value moved = *this;
    moved.storage_ = std::move(storage);
    return moved;
  }
  // The same tensor outside autograd's graph.
  Value detached() const { return {layout_, storage_}; }
  // Autograd knows that it looks at another tensor: what is written into it is written there.
  bool is_view() const { return view_; }
  void set_view(bool view) { view_ = view; }

 private:
  LayoutRef layout_;
  StorageRef storage_;
  GradNodeRef grad_;
  uint32_t grad_output_ = 0;
  bool view_ = false;
};

// Gradients in, one per output of the forward op (undefined where none arrived); gradients out, one
// per edge (undefined where none is needed).
using Gradients = std::vector<Value>;
using Backward = std::function<Gradients(Machine&, const Gradients&, const GradNode&)>;

struct Kept {
  Value value;
  std::string_view rule;
  bool with_node = false;  // an attribute of the node (ctx.tensors): backward does not let go of it
};

struct Edge {
  GradNodeRef node;  // null where the input needs no gradient
  uint32_t output = 0;
  LayoutRef input;  // what the gradient must look like: it is summed to these sizes
};

struct Region;  // eager/recompute.h

struct GradNode : std::enable_shared_from_this<GradNode> {
  GradNode() = default;
  GradNode(const GradNode&) = delete;
  GradNode& operator=(const GradNode&) = delete;
  ~GradNode();

  uint64_t sequence = 0;
  NodeId node = kNoNode;     // the graph's node that is being executed
  size_t place_in_pass = 0;  // among the nodes of the backward pass that runs
  uint32_t outputs = 1;
  std::vector<Edge> edges;
  std::vector<Kept> kept;
  Backward backward;
  // In a checkpointed block: who makes `kept` anew, and which of what it makes is this node's.
  std::shared_ptr<Region> region;
  size_t place = 0;
  struct Away {
    size_t place = 0;    // among `kept`
    int64_t number = 0;  // of the step's
  };
  std::vector<Away> away;  // what the host has of it (eager/activation_stash.h)
  // Of a leaf: accumulates into `gradient`.
  bool is_leaf = false;
  bool grad_disabled = false;  // wants no gradient for now
  bool reached = false;        // some backward pass of the step came to it
  bool received = false;       // of another stage, to which its gradient goes back: no parameter
  // This device's part alone: along the axis nobody else has a share of its gradient.
  std::optional<Placement> split;
  // What this device keeps states of and updates, where that is no more than a part of it.
  std::optional<Shape> updated;
  Value leaf;
  Value gradient;
  // Links those that are let go after this one (~GradNode, which must not ask for memory).
  std::shared_ptr<GradNode> after;

  bool needs(size_t input) const {
    return input < edges.size() && edges[input].node && !edges[input].node->grad_disabled;
  }
  const Value& saved(size_t index) const { return kept[index].value; }
};

}  // namespace plimsoll::eager
