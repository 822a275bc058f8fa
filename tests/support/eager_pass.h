// One operator's code on a machine of its own, with or without gradients, and the work of its
// kernels.
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::test {

struct EagerPass {
  explicit EagerPass(bool of_training) : trained(of_training) {}

  eager::Value made(const Shape& sizes) {
    return trained ? machine.parameter(DType::kFloat32, sizes)
                   : machine.resident(DType::kFloat32, sizes, Role::kInput);
  }

  bool trained;
  Recipe recipe;
  Policy policy;
  Decider decider{Binding{}};
  eager::Machine machine{recipe, policy, decider};
};

struct KernelWork {
  int64_t flop = 0, launches = 0;
};

inline KernelWork work_of(const Step& step) {
  KernelWork work;
  for (const Event& e : step.events) {
    if (e.kind != Event::Kind::kLaunch) continue;
    work.flop += step.kernels[e.id].flop.constant().value_or(0);
    work.launches += step.kernels[e.id].turns.constant().value_or(0);
  }
  return work;
}

}  // namespace plimsoll::test
