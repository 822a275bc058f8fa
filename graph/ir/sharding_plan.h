// ShardingPlan: who holds what of a model that several devices train, and when they tell each other
// of it. Beside the training plan, which says what is trained.
#pragma once

#include <cstdint>

namespace plimsoll {

struct ShardingPlan {
  // Devices that train the whole model, each on a batch of its own.
  int64_t data_ranks = 1;
  // One process feeds them all: it sends the weights before each forward pass and collects
  // gradients after each backward pass (torch.nn.DataParallel). Else each has a process, and sums
  // of gradients stay with everyone.
  bool replicates = false;
  // Gradients are summed while the backward pass goes on; else all at once after it.
  bool sums_during_backward = true;
  // ... in buckets of at least so many bytes, which close as gradients come in, the first of each
  // type earlier; 0: array by array.
  int64_t bucket_bytes = 0, first_bucket_bytes = 0;
  // Fully connected layers are split instead: each device has the weights of some of their outputs
  // and applies them to the samples of all.
  bool splits_layers = false;
  // The buckets are copies that stay beside the gradients.
  bool copies_buckets = false;

  bool operator==(const ShardingPlan&) const = default;
};

}  // namespace plimsoll
