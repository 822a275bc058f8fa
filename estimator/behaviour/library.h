// What a framework has its library do, by the framework's profile and what is asked of it.
#pragma once

#include "estimator/kernels/time_options.h"
#include "estimator/library/workspace/tables.h"
#include "estimator/request/algorithm_policy.h"
#include "hwdb/framework.h"

namespace plimsoll {

struct KernelRequest;

// Whose scratch memory algorithms are timed with.
enum class TimingScratch : uint8_t {
  kLibrary,  // the library's own, given back: the allocator sees none
  kLargest,  // the allocator's, once for all of a problem: the largest
  kEach,     // the allocator's, one algorithm after the other
};

struct LibraryBehaviour {
  AlgorithmPolicy algorithm = AlgorithmPolicy::kHeuristic;  // how one is chosen
  WorkspacePolicy policy{};                                 // ... and within what
  TimingScratch timing = TimingScratch::kLargest;           // where policy.benchmark
  bool pointwise_by_gemm = false;  // filters of one pixel go to the library of products
  // Where the card has no scratch memory left for an algorithm the framework takes another one:
  // what it times is refused memory (cudnnFind; find.lua of soumith/cudnn.torch allows 95 % of what
  // is free, CNTK what is free, PyTorch's getMaxWorkspaceSize the largest block that is free), or
  // it falls back on one without (Caffe's base_conv_layer).
  bool gives_way = false;
  TimeOptions options{};  // how kernels run and are timed
  // Of matrix products that take theirs anew each time, on cards before compute capability 9.0 and
  // from then on; 0: it is kept (cublas.h).
  int64_t product_bytes = 0, product_bytes_hopper = 0;
  int64_t product_scratch(const ComputeCapability& capability) const {
    return capability.major >= 9 ? product_bytes_hopper : product_bytes;
  }
};

// `tf32`: where the precision allows it. Without options, which are a platform's.
LibraryBehaviour library_behaviour(const FrameworkProfile& framework, const KernelRequest& asked,
                                   bool tf32);

}  // namespace plimsoll
