// Fused attention in one pass as an operation graph of cuDNN 9, which finds by its shape that one
// kernel runs all of it. The operations and their order are those of NVIDIA's cudnn-frontend
// (include/cudnn_frontend/node/scaled_dot_product_flash_attention.h), which PyTorch calls
// (aten/src/ATen/native/cudnn/MHA.cpp).
#pragma once

#include "calibrate/cudnn/operation_graph.h"
#include "graph/ir/kernel.h"

namespace plimsoll {

// Of 16 bits, as a framework trains: forward keeps each row's statistics, backward reads them.
// A mask is numbers that are added, [batch, 1, queries, keys]. On the GPU of a handle, where there
// is one. Throws CudnnRefusal.
OperationGraph attention_graph(const CudnnFunctions& cudnn,
                               const AttentionProblem<int64_t>& problem, Pass pass, DType dtype,
                               cudnnHandle_t handle = nullptr);

}  // namespace plimsoll
