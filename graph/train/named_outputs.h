// NamedOutputs: what a network gave out and the program keeps by name from pass to pass.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "graph/eager/machine.h"
#include "graph/eager/value.h"

namespace plimsoll {

// From step to step the names hold the last batch's outputs and their graph, until the next are
// there (Recipe::keeps_last_outputs), or they are let go of behind the backward pass.
class NamedOutputs {
 public:
  NamedOutputs(eager::Machine& m, bool from_step_to_step)
      : m_(m), from_step_to_step_(from_step_to_step) {}

  // The names now hold these, and no longer those of the pass before.
  void hold(std::vector<eager::Value> outputs);
  // Behind a backward pass that another one follows.
  void end_pass();
  // Behind the step. Those of a loop live on into the next one, as those of the step before did
  // into this one.
  void end_step();

 private:
  eager::Machine& m_;
  bool from_step_to_step_;
  std::vector<eager::Value> outputs_;
  std::optional<size_t> first_;  // the event from which they are the first pass's
};

}  // namespace plimsoll
