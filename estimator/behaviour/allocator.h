// What of a step passes through a framework's allocator, and how a process takes the card's memory.
#pragma once

#include <cstdint>
#include <vector>

#include "hwdb/device.h"
#include "hwdb/framework.h"

namespace plimsoll {

// Which results take their input's storage (estimator/memory/in_place.h).
enum class InPlaceReuse : uint8_t {
  kNever,
  // PyTorch's image models, torchvision and timm alike: nn.ReLU(inplace=True) on feature maps, and
  // `out += identity` before it (torchvision/models/resnet.py, timm/models/resnet.py). recover()
  // marks these in ONNX files, whose steps then have no such storage; configs have no marks.
  kImageModels,
  // Layers of one input where top == bottom by custom: activations and dropout in Caffe's net
  // files, brew.relu(model, x, x) in Caffe2's, nn.ReLU(true) in Torch7's. Sums have a blob of their
  // own.
  kActivations,
  // Element-wise operators take over an input that nobody else holds: TensorFlow's
  // OpKernelContext::forward_input (core/framework/op_kernel.h), NNVM's FInplaceOption
  // (src/operator/tensor/elemwise_unary_op.h).
  kElementwise,
};

struct AllocatorBehaviour {
  int64_t rounding = 1;  // bytes to which blocks are rounded
  InPlaceReuse in_place = InPlaceReuse::kNever;
  // Storages of layers or modules stay as long as the network; modules' are each one's own.
  bool keeps_storages = false, by_modules = false;
  bool keeps_activation_gradients = false;  // gradient buffers live as long as the net
  int64_t norm_buffers = 1;  // where storages are kept: of a batch norm, as large as its result
  WorkspaceHome scratch_home = WorkspaceHome::kAllocator;
  int64_t scratch_copies = 1;         // kOwn: of each convolution's
  bool timing_empties_cache = false;  // after the first call of each problem
  // Of libraries, taken at the first matrix product of forward and of backward, for good.
  std::vector<int64_t> library_buffers{};
  int64_t prefetched_batches = 0;  // on the device, without the one in use
  bool python_names = false;       // values live as long as names of the program hold them
  SystemReserve system_reserve{};  // of the card
  bool takes_whole_card = false;
  // Half-widths of 95 % ranges, as shares (FrameworkProfile has what of); 0: none.
  double memory_spread = 0, demand_spread = 0;
  bool is_judged_by_demand() const { return takes_whole_card || demand_spread > 0; }
};

AllocatorBehaviour allocator_behaviour(const FrameworkProfile& framework, const Device& device);

}  // namespace plimsoll
