// BufferedGradients: gradients of all backward passes of a step are added to one buffer in 32 bits,
// which stays between steps; the update reads it. Ranks sum it after the last pass, or scatter its
// sum where each of them has states of a part alone.
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::parallel {

class BufferedGradients : public eager::Observer {
 public:
  // Of the machine's leaves; it outlives this.
  explicit BufferedGradients(eager::Machine& m);

  void begin_backward(bool last) override { last_ = last; }
  void gradient_ready(eager::GradNode& leaf) override;
  void end_backward() override;
  void after_update() override;

 private:
  void add(eager::GradNode& leaf);
  void exchange();
  void sum(const Dim& bytes, const std::optional<Placement>& part);
  void gather(const Dim& bytes, bool joined);
  bool scatters() const;

  eager::Machine& m_;
  eager::Value buffer_;
  bool last_ = false;
};

}  // namespace plimsoll::parallel
