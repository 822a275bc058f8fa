// Region: a block of the forward pass under activation checkpointing. Its nodes are recorded as
// usual, but what they would keep is thrown away; the first of them that runs backward runs the
// block's forward again, up to the last tensor kept, and each node takes what is its own
// (torch/utils/checkpoint.py, use_reentrant=False with early stop; with True it runs to its end).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "graph/eager/value.h"

namespace plimsoll::eager {

struct Region {
  std::function<void(const Region&)> recompute;  // runs the block's forward
  GradNodeRef inputs;                            // keeps what the block read ...
  size_t on_device = 0;                          // ... so many, and results behind them
  size_t keepers = 0;                            // nodes that keep something
  std::vector<std::vector<Kept>> made;           // what they keep, once the block ran again
  bool is_recomputed = false;
  bool by_operator = false;     // results stay too, behind the inputs among what is kept
  std::vector<size_t> results;  // how many, of each operator that has some
  size_t next_operator = 0, next_result = 0;  // when the block runs again
  int64_t products = 0;                       // that took turns in this pass
  size_t made_from = 0;                       // buffers from here on are made again
  // use_reentrant=True: the block's results and their gradients, which its backward pass of its own
  // is given, live until it ends (CheckpointFunction.backward()).
  std::vector<Value> given;
  bool complete() const { return made.size() >= keepers; }
};

}  // namespace plimsoll::eager
