#include "calibrate/cudnn/norm_graph.h"

#include <fmt/format.h>

namespace plimsoll {
namespace {

constexpr float kEpsilon = 1e-5f;  // as PyTorch has it

// [rows, columns, 1, 1], as NVIDIA's cudnn-frontend has it (samples/cpp/norm/layernorm.cpp).
GraphBuilder::Sizes matrix(int64_t rows, int64_t columns) {
  return {{rows, columns, 1, 1}, {columns, 1, columns, columns}};
}

cudnnBackendNormMode_t mode_of(const std::string& op) {
  if (op == "layer_norm") return CUDNN_LAYER_NORM;
  if (op == "rms_norm") return CUDNN_RMS_NORM;
  // 9.19 lists no plan for CUDNN_GROUP_NORM either, in any type and layout, on an H100 and an A100.
  throw CudnnRefusal(fmt::format("its graphs have no engine for {}", op));
}

cudnnDataType_t type_of_norm(DType dtype) {
  if (dtype == DType::kFloat16) return CUDNN_DATA_HALF;
  if (dtype == DType::kBFloat16) return CUDNN_DATA_BFLOAT16;
  if (dtype == DType::kFloat32) return CUDNN_DATA_FLOAT;
  throw CudnnRefusal("its norms are of 16 and 32 bits");
}

}  // namespace

OperationGraph norm_graph(const CudnnFunctions& cudnn, const KernelAt& kernel,
                          cudnnHandle_t handle) {
  const auto* rows = std::get_if<RowsProblem<int64_t>>(&kernel.problem);
  if (!rows) throw CudnnRefusal("its norms are of rows");
  const cudnnBackendNormMode_t mode = mode_of(kernel.op);
  const bool centred = mode == CUDNN_LAYER_NORM;
  GraphBuilder b(cudnn, type_of_norm(kernel.dtype));
  const auto image = matrix(rows->rows, rows->columns), parameter = matrix(1, rows->columns);
  const auto each_row = matrix(rows->rows, 1);
  const auto x = b.operand(image), y = b.operand(image);  // backward the gradient of y
  const auto scale = b.operand(parameter);
  const auto mean = centred ? b.statistics(each_row) : nullptr;
  const auto deviation = b.statistics(each_row);
  const auto bias = centred ? b.operand(parameter) : nullptr;  // backward its gradient
  if (kernel.pass == Pass::kForward) {
    Descriptor& norm = b.part(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
    norm.set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, std::vector{mode})
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE,
             std::vector{CUDNN_NORM_FWD_TRAINING})
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, *x)
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, *y)
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, *scale)
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, *b.scalar(kEpsilon))
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, *deviation);
    if (mean) norm.set(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, *mean);
    if (bias) norm.set(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, *bias);
    b.finish(norm, "a norm");
  } else {
    Descriptor& norm = b.part(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
    norm.set(CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, std::vector{mode})
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, *x)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, *y)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, *scale)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, *deviation)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, *b.operand(image))
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, *b.operand(parameter));
    if (mean) norm.set(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, *mean);
    if (bias) norm.set(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, *bias);
    b.finish(norm, "the gradient of a norm");
  }
  return b.finish_graph(handle);
}

}  // namespace plimsoll
