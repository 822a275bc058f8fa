#include "calibrate/card/gemm_work.h"

#include <cublasLt.h>
#include <fmt/format.h>

#include <array>

namespace plimsoll::calibrate {

struct CublasLt::Functions {
  decltype(::cublasLtCreate)* create;
  decltype(::cublasLtMatmul)* multiply;
  decltype(::cublasLtMatmulDescCreate)* create_product;
  decltype(::cublasLtMatmulDescDestroy)* destroy_product;
  decltype(::cublasLtMatmulDescSetAttribute)* set_product;
  decltype(::cublasLtMatrixLayoutCreate)* create_layout;
  decltype(::cublasLtMatrixLayoutDestroy)* destroy_layout;
  decltype(::cublasLtMatrixLayoutSetAttribute)* set_layout;
  decltype(::cublasLtMatmulPreferenceCreate)* create_preference;
  decltype(::cublasLtMatmulPreferenceDestroy)* destroy_preference;
  decltype(::cublasLtMatmulPreferenceSetAttribute)* set_preference;
  decltype(::cublasLtMatmulAlgoGetHeuristic)* heuristic;
  decltype(::cublasLtMatmulAlgoConfigGetAttribute)* configuration;
  cublasLtHandle_t handle;
};

namespace {

// What PyTorch lets cuBLAS use on Hopper; 8 MiB before (aten/src/ATen/cuda/CublasHandlePool.cpp,
// getChosenWorkspaceSize).
constexpr size_t kWorkspace = size_t{32} << 20;
constexpr int kMostAlgorithms = 8;

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw CardFault("E722", fmt::format("cuBLASLt, {}: status {}", what, static_cast<int>(status)));
}

struct Types {
  cudaDataType_t operands, scale;
  cublasComputeType_t compute;
};

Types types_of(const KernelAt& kernel) {
  switch (kernel.dtype) {
    case DType::kFloat64:
      return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DType::kFloat32:
      return {CUDA_R_32F, CUDA_R_32F,
              kernel.tensor_core ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F};
    case DType::kFloat16:
      return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::kBFloat16:
      return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    default:
      throw CardFault("E724", "cuBLASLt multiplies no such type");
  }
}

// Row-major C[m,n] = A[m,k] B[k,n] is, column-major, C'[n,m] = B'[n,k] A'[k,m].
class GemmWork : public Work {
 public:
  GemmWork(const Driver& driver, std::shared_ptr<const CublasLt::Functions> call,
           const KernelAt& kernel)
      : driver_(driver),
        call_(std::move(call)),
        types_(types_of(kernel)),
        problem_(std::get<GemmProblem<int64_t>>(kernel.problem)),
        element_(bits(kernel.dtype) / 8),
        accumulates_(problem_.accumulate) {
    const GemmProblem<int64_t>& p = problem_;
    check(call_->create_product(&product_, types_.compute, types_.scale), "describe a product");
    const cublasOperation_t first = p.b_t ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second = p.a_t ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(call_->set_product(product_, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first), "set");
    check(call_->set_product(product_, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second), "set");
    layouts_[0] = p.b_t ? layout(p.k, p.n) : layout(p.n, p.k);
    layouts_[1] = p.a_t ? layout(p.m, p.k) : layout(p.k, p.m);
    layouts_[2] = layout(p.n, p.m);
    list();
  }
  ~GemmWork() override {
    for (const auto at : layouts_) call_->destroy_layout(at);
    call_->destroy_product(product_);
  }

  const std::vector<Offer>& offers() const override { return offers_; }
  std::vector<int64_t> operand_bytes() const override {
    const GemmProblem<int64_t>& p = problem_;
    const int64_t each = element_ * p.batch;
    return {each * p.k * p.n, each * p.m * p.k, each * p.m * p.n};
  }
  void launch(size_t offer, std::span<const DeviceMemory> operands,
              const DeviceMemory& workspace) override {
    const double one64 = 1, beta64 = accumulates_ ? 1 : 0;
    const float one32 = 1, beta32 = accumulates_ ? 1 : 0;
    const bool wide = types_.scale == CUDA_R_64F;
    const void* alpha = wide ? static_cast<const void*>(&one64) : &one32;
    const void* beta = wide ? static_cast<const void*>(&beta64) : &beta32;
    check(call_->multiply(call_->handle, product_, alpha, operands[0].pointer(), layouts_[0],
                          operands[1].pointer(), layouts_[1], beta, operands[2].pointer(),
                          layouts_[2], operands[2].pointer(), layouts_[2], &algorithms_[offer].algo,
                          workspace.pointer(), static_cast<size_t>(workspace.bytes()),
                          reinterpret_cast<cudaStream_t>(driver_.stream())),
          "multiply");
  }

 private:
  cublasLtMatrixLayout_t layout(int64_t rows, int64_t columns) const {
    cublasLtMatrixLayout_t made = nullptr;
    check(call_->create_layout(&made, types_.operands, static_cast<uint64_t>(rows),
                               static_cast<uint64_t>(columns), rows),
          "describe a matrix");
    const auto batch = static_cast<int32_t>(problem_.batch);
    const int64_t stride = rows * columns;
    check(call_->set_layout(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch), "set");
    check(call_->set_layout(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                            sizeof stride),
          "set");
    return made;
  }
  int64_t told(const cublasLtMatmulAlgo_t& algorithm,
               cublasLtMatmulAlgoConfigAttributes_t which) const {
    int32_t value = -1;
    size_t written = 0;
    call_->configuration(&algorithm, which, &value, sizeof value, &written);
    return value;
  }
  void list() {
    cublasLtMatmulPreference_t preference = nullptr;
    check(call_->create_preference(&preference), "describe a preference");
    call_->set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace,
                          sizeof kWorkspace);
    std::array<cublasLtMatmulHeuristicResult_t, kMostAlgorithms> found{};
    int count = 0;
    const auto status =
        call_->heuristic(call_->handle, product_, layouts_[0], layouts_[1], layouts_[2],
                         layouts_[2], preference, kMostAlgorithms, found.data(), &count);
    call_->destroy_preference(preference);
    check(status, "list algorithms");
    for (int i = 0; i < count; ++i) {
      const auto& one = found[static_cast<size_t>(i)];
      if (one.state != CUBLAS_STATUS_SUCCESS) continue;
      algorithms_.push_back(one);
      offers_.push_back({fmt::format("cublaslt {} tile {} stages {} split {}",
                                     told(one.algo, CUBLASLT_ALGO_CONFIG_ID),
                                     told(one.algo, CUBLASLT_ALGO_CONFIG_TILE_ID),
                                     told(one.algo, CUBLASLT_ALGO_CONFIG_STAGES_ID),
                                     told(one.algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM)),
                         static_cast<int64_t>(one.workspaceSize),
                         {}});
    }
    if (offers_.empty()) throw CardFault("E724", "cuBLASLt lists no algorithm");
  }

  const Driver& driver_;
  std::shared_ptr<const CublasLt::Functions> call_;
  Types types_;
  GemmProblem<int64_t> problem_;
  int64_t element_;
  bool accumulates_;
  cublasLtMatmulDesc_t product_ = nullptr;
  std::array<cublasLtMatrixLayout_t, 3> layouts_{};
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms_;
  std::vector<Offer> offers_;
};

}  // namespace

Result<CublasLt> CublasLt::make(const SharedLibrary& library) {
  auto call = std::make_shared<Functions>();
  Diagnostics missing;
  library.load(call->create, "cublasLtCreate", missing);
  library.load(call->multiply, "cublasLtMatmul", missing);
  library.load(call->create_product, "cublasLtMatmulDescCreate", missing);
  library.load(call->destroy_product, "cublasLtMatmulDescDestroy", missing);
  library.load(call->set_product, "cublasLtMatmulDescSetAttribute", missing);
  library.load(call->create_layout, "cublasLtMatrixLayoutCreate", missing);
  library.load(call->destroy_layout, "cublasLtMatrixLayoutDestroy", missing);
  library.load(call->set_layout, "cublasLtMatrixLayoutSetAttribute", missing);
  library.load(call->create_preference, "cublasLtMatmulPreferenceCreate", missing);
  library.load(call->destroy_preference, "cublasLtMatmulPreferenceDestroy", missing);
  library.load(call->set_preference, "cublasLtMatmulPreferenceSetAttribute", missing);
  library.load(call->heuristic, "cublasLtMatmulAlgoGetHeuristic", missing);
  library.load(call->configuration, "cublasLtMatmulAlgoConfigGetAttribute", missing);
  if (!missing.empty()) return tl::make_unexpected(missing);
  if (const auto status = call->create(&call->handle); status != CUBLAS_STATUS_SUCCESS)
    return error("E722", fmt::format("cuBLASLt cannot create a handle: status {}",
                                     static_cast<int>(status)));
  return CublasLt(std::move(call));
}

std::unique_ptr<Work> CublasLt::product(const Driver& driver, const KernelAt& kernel) const {
  return std::make_unique<GemmWork>(driver, call_, kernel);
}

}  // namespace plimsoll::calibrate
