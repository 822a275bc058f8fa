// HostStates: optimizer states of a model that nobody shards are in the host's memory, as torchao's
// CPUOffloadOptimizer has it (torchao/optim/cpu_offload.py, 0.14): each gradient is copied to the
// host as soon as it is whole and stays on the device until gradients are set to none; new weights
// come back behind the update. The host has weights and gradients in pinned memory too.
#pragma once

#include <vector>

#include "graph/eager/machine.h"

namespace plimsoll::parallel {

class HostStates : public eager::Observer {
 public:
  explicit HostStates(eager::Machine& m);

  void gradient_ready(eager::GradNode& leaf) override;
  void end_backward() override;

 private:
  eager::Machine& m_;
  std::vector<uint32_t> leaving_;  // gradients on their way to the host
};

}  // namespace plimsoll::parallel
