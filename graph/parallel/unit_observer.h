// UnitObserver: told before and after each unit of a network instead of each node, forward and
// backward: what gathers a unit's weights, or moves them between devices, is one.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/eager/machine.h"
#include "graph/parallel/unit.h"

namespace plimsoll::parallel {

// Does the outermost module compute the loss, so that its forward pass ends behind it and its
// backward pass begins before it? Models of transformers do that accelerate wraps, which widens
// what they return. Of FSDP, whose hooks are on what that module returns
// (_fsdp_state.py, _post_forward(); _runtime_utils.py, _register_pre_backward_hooks()).
bool computes_loss(const Recipe& recipe);

class UnitObserver : public eager::Observer {
 public:
  // Of find_weights(); units are known by their place, the one around them comes behind all others.
  // `with_loss`: computes_loss().
  UnitObserver(const std::vector<Unit>& units, const Unit& around, bool with_loss = false);

  void before_node(NodeId node, std::vector<eager::Value>& inputs) final;
  void end_forward() final;
  void begin_backward(bool last) override;
  void before_backward_of(NodeId node) final;
  void end_backward() override;

 protected:
  // A unit that runs again in backward, for its checkpoint, is in its backward pass; it may be told
  // of twice, and of one that no gradient goes through only the beginning is told.
  virtual void before_unit(size_t unit, Pass pass) = 0;
  virtual void after_unit(size_t unit, Pass pass) = 0;
  // A node of a unit that runs again for its checkpoint is about to read these.
  virtual void before_node_again(size_t /*unit*/, std::span<const eager::Value> /*inputs*/) {}
  size_t around() const { return around_; }
  // Nothing of a node that is in none of them.
  std::optional<size_t> unit_of(NodeId node) const;
  // What a forward pass comes to next; around() behind the last. What is around the units comes
  // before the first of them.
  size_t after(size_t unit) const { return unit == around_ ? 0 : unit + 1; }

 private:
  void come_to(std::optional<size_t> unit, Pass pass);

  size_t around_;
  bool with_loss_;
  std::vector<size_t> unit_of_;  // by node
  std::optional<size_t> current_;
  bool in_forward_ = false, in_backward_ = false;
  bool around_due_ = false;  // the unit around the others has not been told of in this pass
};

}  // namespace plimsoll::parallel
