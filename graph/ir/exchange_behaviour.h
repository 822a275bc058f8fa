// ExchangeBehaviour: when the devices that train the same model tell each other of gradients, as a
// framework does it.
#pragma once

#include <cstdint>

namespace plimsoll {

struct ExchangeBehaviour {
  // One process feeds them all: it sends the weights before each forward pass and collects
  // gradients after each backward pass (torch.nn.DataParallel). Else each has a process, and sums
  // of gradients stay with everyone.
  bool replicates = false;
  // Gradients are summed while the backward pass goes on; else all at once after it.
  bool sums_during_backward = true;
  // ... in buckets of at least so many bytes, which close as gradients come in, the first of each
  // type earlier; 0: array by array.
  int64_t bucket_bytes = 0, first_bucket_bytes = 0;
  // The buckets are copies that stay beside the gradients.
  bool copies_buckets = false;

  bool operator==(const ExchangeBehaviour&) const = default;
};

}  // namespace plimsoll
