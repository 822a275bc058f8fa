// in_place: which outputs of a step take their input's storage. A step's events give every result
// a storage of its own, which is right for the peak of live bytes; but where the input dies in the
// same operation a program that works in place asks the allocator for nothing, and holes in its
// segments lie elsewhere.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/step.h"

namespace plimsoll {

enum class InPlaceHabit : uint8_t {
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

// By BufferId: the buffer whose storage it takes over, or itself. `bytes` by BufferId. Cost: one
// walk over the events.
std::vector<BufferId> storage_taken(const Graph& graph, const Step& step,
                                    const std::vector<int64_t>& bytes, InPlaceHabit habit);

}  // namespace plimsoll
