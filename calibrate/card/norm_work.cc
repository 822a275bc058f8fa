#include "calibrate/card/cudnn_tensor.h"
#include "calibrate/card/cudnn_work.h"
#include "calibrate/card/graph_work.h"
#include "calibrate/cudnn/norm_graph.h"

namespace plimsoll::calibrate {
namespace {

constexpr double kEpsilon = 1e-5, kMomentum = .1;  // as PyTorch has them
constexpr auto kBatchNorm = CUDNN_BATCHNORM_OPS_BN;
// PyTorch's for channels before images (aten/src/ATen/native/cudnn/BatchNorm.cpp).
constexpr auto kSpatial = CUDNN_BATCHNORM_SPATIAL;

// Scale, bias and statistics are in 32 bits at least.
DType parameter_type(DType dtype) {
  return dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

// A row is a channel, over all samples; of one sample here, since nothing tells how many there are.
class BatchNormWork : public Work {
 public:
  BatchNormWork(const CudnnHandle& cudnn, const KernelAt& kernel, const RowsProblem<int64_t>& rows)
      : cudnn_(cudnn),
        forward_(kernel.pass == Pass::kForward),
        scale_(kernel.dtype),
        x_(cudnn, kernel.dtype, std::array{int64_t{1}, rows.rows, int64_t{1}, rows.columns}),
        parameters_(cudnn, parameter_type(kernel.dtype),
                    std::array{int64_t{1}, rows.rows, int64_t{1}, int64_t{1}}) {
    if (forward_) {
      make_ = cudnn.function<decltype(::cudnnBatchNormalizationForwardTrainingEx)>(
          "cudnnBatchNormalizationForwardTrainingEx");
    } else {
      differentiate_ = cudnn.function<decltype(::cudnnBatchNormalizationBackwardEx)>(
          "cudnnBatchNormalizationBackwardEx");
    }
    reserve_ = reserve_bytes();
    offers_ = {{.algorithm = "cudnn_spatial", .workspace_bytes = workspace(), .plan = {}}};
  }

  const std::vector<Offer>& offers() const override { return offers_; }
  // x and y, or x, dy and dx; the reserve; of parameters scale, bias, their running statistics or
  // gradients, and those that are saved.
  std::vector<int64_t> operand_bytes() const override {
    std::vector<int64_t> bytes(forward_ ? 2 : 3, x_.bytes());
    bytes.push_back(static_cast<int64_t>(reserve_));
    bytes.insert(bytes.end(), 6, parameters_.bytes());
    return bytes;
  }
  void launch(size_t, std::span<const DeviceMemory> at, const DeviceMemory& workspace) override {
    cudnn_.check(forward_ ? forward(at, workspace) : backward(at, workspace), "batch norm");
  }

 private:
  int64_t workspace() const {
    size_t bytes = 0;
    if (forward_) {
      const auto get =
          cudnn_.function<decltype(::cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize)>(
              "cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize");
      cudnn_.check(get(cudnn_.raw(), kSpatial, kBatchNorm, x_.raw(), nullptr, x_.raw(),
                       parameters_.raw(), nullptr, &bytes),
                   "tell a workspace");
    } else {
      const auto get =
          cudnn_.function<decltype(::cudnnGetBatchNormalizationBackwardExWorkspaceSize)>(
              "cudnnGetBatchNormalizationBackwardExWorkspaceSize");
      cudnn_.check(get(cudnn_.raw(), kSpatial, kBatchNorm, x_.raw(), nullptr, x_.raw(), nullptr,
                       x_.raw(), parameters_.raw(), nullptr, &bytes),
                   "tell a workspace");
    }
    return static_cast<int64_t>(bytes);
  }
  size_t reserve_bytes() const {
    const auto get =
        cudnn_.function<decltype(::cudnnGetBatchNormalizationTrainingExReserveSpaceSize)>(
            "cudnnGetBatchNormalizationTrainingExReserveSpaceSize");
    size_t bytes = 0;
    cudnn_.check(get(cudnn_.raw(), kSpatial, kBatchNorm, nullptr, x_.raw(), &bytes),
                 "tell a reserve");
    return bytes;
  }
  cudnnStatus_t forward(std::span<const DeviceMemory> at, const DeviceMemory& workspace) const {
    return make_(cudnn_.raw(), kSpatial, kBatchNorm, scale_.one(), scale_.zero(), x_.raw(),
                 at[0].pointer(), nullptr, nullptr, x_.raw(), at[1].pointer(), parameters_.raw(),
                 at[3].pointer(), at[4].pointer(), kMomentum, at[5].pointer(), at[6].pointer(),
                 kEpsilon, at[7].pointer(), at[8].pointer(), nullptr, workspace.pointer(),
                 static_cast<size_t>(workspace.bytes()), at[2].pointer(), reserve_);
  }
  cudnnStatus_t backward(std::span<const DeviceMemory> at, const DeviceMemory& workspace) const {
    return differentiate_(
        cudnn_.raw(), kSpatial, kBatchNorm, scale_.one(), scale_.zero(), scale_.one(),
        scale_.zero(), x_.raw(), at[0].pointer(), nullptr, nullptr, x_.raw(), at[1].pointer(),
        nullptr, nullptr, x_.raw(), at[2].pointer(), parameters_.raw(), at[4].pointer(), nullptr,
        at[6].pointer(), at[7].pointer(), kEpsilon, at[8].pointer(), at[9].pointer(), nullptr,
        workspace.pointer(), static_cast<size_t>(workspace.bytes()), at[3].pointer(), reserve_);
  }

  CudnnHandle cudnn_;
  bool forward_;
  CudnnScale scale_;
  CudnnTensor x_, parameters_;
  decltype(::cudnnBatchNormalizationForwardTrainingEx)* make_ = nullptr;
  decltype(::cudnnBatchNormalizationBackwardEx)* differentiate_ = nullptr;
  size_t reserve_ = 0;
  std::vector<Offer> offers_;
};

}  // namespace

std::unique_ptr<Work> norm_work(const CudnnHandle& cudnn, const KernelAt& kernel) {
  if (kernel.op == "batch_norm")
    return std::make_unique<BatchNormWork>(cudnn, kernel,
                                           std::get<RowsProblem<int64_t>>(kernel.problem));
  const auto make = [&](const CudnnFunctions& functions, cudnnHandle_t handle) {
    return norm_graph(functions, kernel, handle);
  };
  return graph_work(cudnn, make, "cudnn_" + kernel.op);
}

}  // namespace plimsoll::calibrate
