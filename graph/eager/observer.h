// Observer: what runs beside a model's own code where a step comes to certain places, as PyTorch's
// hooks on modules and tensors do: how devices share a model's training.
#pragma once

#include <span>
#include <vector>

#include "graph/eager/value.h"

namespace plimsoll::eager {

class Observer {
 public:
  Observer() = default;
  virtual ~Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  // A forward pass begins, over these weights and buffers.
  virtual void begin_forward(std::span<const Value> /*weights*/,
                             std::span<const Value> /*buffers*/) {}
  // A node of the graph runs on the device, in the forward pass or once more in backward: what it
  // reads and what it made may be put in others' place.
  virtual void before_node(NodeId /*node*/, std::vector<Value>& /*inputs*/) {}
  virtual void after_node(NodeId /*node*/, std::vector<Value>& /*outputs*/) {}

  virtual void end_forward() {}

  // Around a backward pass; behind the last one of a step nothing is added to gradients.
  virtual void begin_backward(bool /*last*/) {}
  virtual void end_backward() {}
  // The engine comes to a part of the node's backward pass.
  virtual void before_backward_of(NodeId /*node*/) {}
  // ... with these gradients of what it made.
  virtual void before_backward_with(const GradNode& /*node*/,
                                    std::span<const Value> /*gradients*/) {}
  // A backward pass has added all that it has to a parameter's gradient.
  virtual void gradient_ready(GradNode& /*leaf*/) {}

  virtual void after_update() {}
};

}  // namespace plimsoll::eager
