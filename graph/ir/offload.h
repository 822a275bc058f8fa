// Offload: what of a training step is in the host's memory while no kernel of the GPU reads it.
#pragma once

namespace plimsoll {

struct Offload {
  // Optimizer states, and copies of weights in a wider type: the host updates weights.
  bool states = false;
  bool parameters = false;   // come to the GPU for each use
  bool activations = false;  // what autograd keeps, which comes back for the backward pass

  // Whether the host has any of it between steps.
  bool keeps() const { return states || parameters; }
  bool operator==(const Offload&) const = default;
};

}  // namespace plimsoll
