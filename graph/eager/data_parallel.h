// What PyTorch's DistributedDataParallel keeps beside a model's gradients: buckets into which they
// are copied to be summed over the GPUs (gradient_as_bucket_view=False, its default), and a flat
// copy of the buffers while they are broadcast.
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// One resident per bucket, in the order gradients arrive: a bucket is closed by the tensor that
// reaches its limit, that of each type's first is smaller (torch/csrc/distributed/c10d/reducer.cpp,
// compute_bucket_assignment_by_size). Limits are the policy's; none without them.
void make_gradient_buckets(Machine& m);

// Before each forward pass buffers of one type are joined, sent and copied back
// (_sync_module_buffers, _broadcast_coalesced).
void broadcast_buffers(Machine& m, std::span<const Value> buffers);

}  // namespace plimsoll::eager
