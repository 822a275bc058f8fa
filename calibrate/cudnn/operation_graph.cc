#include "calibrate/cudnn/operation_graph.h"

namespace plimsoll {

GraphBuilder::Value GraphBuilder::scalar(float value) {
  const Value made = tensor({{1, 1, 1, 1}, {1, 1, 1, 1}}, CUDNN_DATA_FLOAT, Kind::kScalar);
  graph_.scalars_.push_back({next_, value});
  return made;
}

GraphBuilder::Value GraphBuilder::scratch(const Sizes& sizes,
                                          cudnnBackendTensorReordering_t order) {
  const Value made = tensor(sizes, CUDNN_DATA_FLOAT, Kind::kOperand, order);
  graph_.scratch_bytes_ += graph_.operands_.back().bytes;
  return made;
}

void GraphBuilder::finish(Descriptor& operation, const char* what) {
  operation.finalize(what);
  operations_.push_back(operation.raw());
}

OperationGraph GraphBuilder::finish_graph(cudnnHandle_t handle) {
  Descriptor& graph = part(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (handle) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, std::vector{handle});
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations_)
      .finalize("the graph");
  return std::move(graph_);
}

GraphBuilder::Value GraphBuilder::tensor(const Sizes& sizes, cudnnDataType_t type, Kind kind,
                                         cudnnBackendTensorReordering_t order) {
  Descriptor& d = part(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, {++next_})
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {16})
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, std::vector{type})
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes.extents)
      .set(CUDNN_ATTR_TENSOR_STRIDES, sizes.strides)
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN,
           std::vector<char>{kind == Kind::kInner})
      .set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN,
           std::vector<char>{kind == Kind::kScalar})
      .set(CUDNN_ATTR_TENSOR_REORDERING_MODE, CUDNN_TYPE_TENSOR_REORDERING_MODE, std::vector{order})
      .finalize("a tensor");
  if (kind == Kind::kOperand) {
    int64_t bytes = type == CUDNN_DATA_INT64 ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2;
    for (const int64_t extent : sizes.extents) bytes *= extent;
    graph_.operands_.push_back({next_, bytes});
  }
  return &d;
}

}  // namespace plimsoll
