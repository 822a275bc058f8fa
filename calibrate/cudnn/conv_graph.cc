#include "calibrate/cudnn/conv_graph.h"

#include <array>

namespace plimsoll {
namespace {

cudnnDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return CUDNN_DATA_HALF;
    case DType::kBFloat16:
      return CUDNN_DATA_BFLOAT16;
    case DType::kFloat64:
      return CUDNN_DATA_DOUBLE;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

// The operation of a pass and the names of its attributes: each pass has its own.
struct Operation {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t x, w, y, convolution, alpha, beta;
};

const Operation& operation_of(Pass pass) {
  static constexpr std::array<Operation, 3> kOperations = {
      {{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
       {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
       {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}}};
  return kOperations[static_cast<size_t>(pass)];
}

Descriptor tensor(const CudnnFunctions& cudnn, int64_t id, const std::array<int64_t, 4>& extents,
                  const ConvQuestion& question) {
  const auto [n, c, h, w] = extents;
  const std::vector<int64_t> strides = question.problem.channels_last
                                           ? std::vector<int64_t>{c * h * w, 1, c * w, c}
                                           : std::vector<int64_t>{c * h * w, h * w, w, 1};
  Descriptor d(cudnn, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, {id})
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {16})
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, std::vector{type_of(question.dtype)})
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, {n, c, h, w})
      .set(CUDNN_ATTR_TENSOR_STRIDES, strides)
      .finalize("a tensor");
  return d;
}

Descriptor convolution(const CudnnFunctions& cudnn, const ConvQuestion& question) {
  const ConvProblem<int64_t>& c = question.problem;
  const auto both = [](const std::array<int64_t, 3>& extents) {
    return std::vector<int64_t>{extents[1], extents[2]};
  };
  const auto sum = question.dtype == DType::kFloat64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  Descriptor d(cudnn, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  d.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, std::vector{sum})
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
           std::vector{CUDNN_CROSS_CORRELATION})
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2})
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, both(c.stride))
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, both(c.dilation))
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, both(c.pad))
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, both(c.pad))
      .finalize("a convolution");
  return d;
}

}  // namespace

ConvGraph::ConvGraph(const CudnnFunctions& cudnn, const ConvQuestion& question,
                     cudnnHandle_t handle) {
  const ConvProblem<int64_t>& c = question.problem;
  parts_.push_back(tensor(cudnn, 'x', {c.n, c.c, c.in[1], c.in[2]}, question));
  parts_.push_back(tensor(cudnn, 'w', {c.k, c.c / c.groups, c.filter[1], c.filter[2]}, question));
  parts_.push_back(tensor(cudnn, 'y', {c.n, c.k, c.out[1], c.out[2]}, question));
  parts_.push_back(convolution(cudnn, question));
  const Operation& at = operation_of(question.pass);
  Descriptor operation(cudnn, at.type);
  operation.set(at.x, parts_[0])
      .set(at.w, parts_[1])
      .set(at.y, parts_[2])
      .set(at.convolution, parts_[3])
      .set(at.alpha, CUDNN_TYPE_DOUBLE, std::vector{1.0})
      .set(at.beta, CUDNN_TYPE_DOUBLE, std::vector{0.0})
      .finalize("the operation");
  parts_.push_back(std::move(operation));
  Descriptor graph(cudnn, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (handle) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, std::vector{handle});
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, parts_[4]).finalize("the graph");
  parts_.push_back(std::move(graph));
}

}  // namespace plimsoll
