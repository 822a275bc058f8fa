// What autograd keeps of a forward pass, on the host until its backward pass comes, as TRL has it
// for itself and axolotl, after torchtune (trl/models/activation_offloading.py, OffloadActivations
// with streams, 1.16): copies of a stream of their own. Forward, the last few tensors stay on the
// device until they are there, and what is kept once more meanwhile stays for good; backward, each
// comes where its node runs, and stays until the next such node has run. Weights and what is small
// do not go. (The functions are in activation_offload.cc: the Machine has one of these.)
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "graph/eager/value.h"

namespace plimsoll::eager {

class ActivationStash {
 public:
  explicit ActivationStash(Machine& m) : m_(m) {}

  // What the node keeps goes, where it is worth it.
  void send(GradNode& node);
  // It comes back: the node runs backward, or the block whose inputs it keeps.
  void bring(GradNode& node);
  // A node has run; where bring() was called for it, what came for the one before goes.
  void has_run();
  // A backward pass is over: what came for its nodes goes.
  void end_backward();
  // ... and so is the step: what no backward pass came for is let go of.
  void end();

 private:
  struct Leaving {
    int64_t number = 0;
    BufferId original = kNoBuffer;
    Value value;
    uint32_t copy = 0;
  };
  struct Gone {
    int64_t number = 0;
    Dim bytes;
    bool comes = false;  // its copy has begun
    uint32_t copy = 0;
  };

  bool goes(const Value& value);
  Value still_here(int64_t number) const;
  void begin(Gone& gone);
  StorageRef came(int64_t number, const Value& kept);

  Machine& m_;
  int64_t number_ = 0;             // of all that nodes have kept
  std::deque<Leaving> leaving_;    // on the device until their copies are done
  std::set<BufferId> stays_;       // what was kept twice
  std::vector<Gone> gone_;         // in the order in which they went
  bool brought_ = false;           // bring(), for the node that runs
  std::vector<Value> now_, last_;  // came for the node that runs, and for the one before
};

}  // namespace plimsoll::eager
