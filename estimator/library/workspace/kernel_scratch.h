// Scratch memory that PyTorch's own kernels ask the caching allocator for and give back before they
// return: no dispatch on fake tensors sees it. What cuDNN takes is convolution.h's.
#pragma once

#include <cstdint>

#include "graph/ir/kernel.h"
#include "hwdb/device.h"

namespace plimsoll {

// Bytes, at most as many at once; 0 for kernels that take none. A table of rows, each with its
// formula and source.
int64_t kernel_scratch(const KernelAt& kernel, const Device& device);

// Formulas by themselves. `n` indices of 64 bits.

// cub's radix sort of n pairs into other memory: keys and values once more.
int64_t sort_pairs_scratch(int64_t n, int64_t key_bytes, int64_t value_bytes);
// Gradient of a table of which n rows of `columns` were read, at most `touched` different ones.
// `bags`: of embedding_bag(), which sorts however few they are.
int64_t embedding_backward_scratch(int64_t n, int64_t touched, int64_t columns, bool bags);
// x[indices] += values, and the gradient of x[indices].
int64_t index_put_scratch(int64_t n);
// torch.sort() of `rows` of `columns` each.
int64_t sort_scratch(int64_t rows, int64_t columns, int64_t element_bytes);
// Gradients of a norm's weights: partial sums where there are many short rows, of each of its
// `weights`, 2 of a layer norm and 1 of an RMS norm.
int64_t norm_backward_scratch(int64_t rows, int64_t columns, int64_t element_bytes, int64_t weights,
                              const Device& device);
// torch.unique() of n elements, sorted; `inverse`: with where each one went.
int64_t unique_scratch(int64_t n, int64_t element_bytes, bool inverse);
// Columns of as many samples as run at once, of `bytes` each.
int64_t deform_conv_columns(int64_t samples, int64_t bytes);
// torch.topk() of `rows` of `columns` each: where rows are long for their number, several blocks
// share one and count digits of its elements.
int64_t topk_scratch(int64_t rows, int64_t columns, int64_t element_bytes, const Device& device);
// torchvision.ops.nms() of n boxes: a bit for each pair.
int64_t nms_scratch(int64_t n);
// cuDNN's recurrent layers, at least: what a layer's input gives to the gates of all time steps.
// The library says how much it takes on a card alone (cudnnGetRNNWorkspaceSize). `element_bytes` of
// the operands; 0 where no library runs them.
int64_t recurrent_scratch(const RecurrentProblem<int64_t>& problem, int64_t element_bytes);
// torch._foreach_norm() of `tensors`, of which the largest has `largest` elements.
int64_t foreach_norm_scratch(int64_t tensors, int64_t largest);

}  // namespace plimsoll
