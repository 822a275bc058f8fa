#include <fmt/format.h>

#include "calibrate/card/cudnn_tensor.h"
#include "calibrate/card/cudnn_work.h"

namespace plimsoll::calibrate {
namespace {

// Over the columns of each row: of a tensor [rows, columns, 1, 1] cuDNN's mode "instance".
class SoftmaxWork : public Work {
 public:
  SoftmaxWork(const CudnnHandle& cudnn, const KernelAt& kernel, cudnnSoftmaxAlgorithm_t algorithm)
      : cudnn_(cudnn),
        forward_(kernel.pass == Pass::kForward),
        algorithm_(algorithm),
        scale_(kernel.dtype),
        tensor_(cudnn, kernel.dtype,
                std::array{std::get<RowsProblem<int64_t>>(kernel.problem).rows,
                           std::get<RowsProblem<int64_t>>(kernel.problem).columns, int64_t{1},
                           int64_t{1}}),
        make_(cudnn.function<decltype(::cudnnSoftmaxForward)>("cudnnSoftmaxForward")),
        differentiate_(cudnn.function<decltype(::cudnnSoftmaxBackward)>("cudnnSoftmaxBackward")),
        offers_{{.algorithm = "cudnn_softmax", .workspace_bytes = 0, .plan = {}}} {}

  const std::vector<Offer>& offers() const override { return offers_; }
  std::vector<int64_t> operand_bytes() const override {
    return std::vector<int64_t>(forward_ ? 2 : 3, tensor_.bytes());
  }
  // x, y; backward y, dy, dx.
  void launch(size_t, std::span<const DeviceMemory> at, const DeviceMemory&) override {
    constexpr auto kMode = CUDNN_SOFTMAX_MODE_INSTANCE;
    const auto status =
        forward_ ? make_(cudnn_.raw(), algorithm_, kMode, scale_.one(), tensor_.raw(),
                         at[0].pointer(), scale_.zero(), tensor_.raw(), at[1].pointer())
                 : differentiate_(cudnn_.raw(), algorithm_, kMode, scale_.one(), tensor_.raw(),
                                  at[0].pointer(), tensor_.raw(), at[1].pointer(), scale_.zero(),
                                  tensor_.raw(), at[2].pointer());
    cudnn_.check(status, "softmax");
  }

 private:
  CudnnHandle cudnn_;
  bool forward_;
  cudnnSoftmaxAlgorithm_t algorithm_;
  CudnnScale scale_;
  CudnnTensor tensor_;
  decltype(::cudnnSoftmaxForward)* make_;
  decltype(::cudnnSoftmaxBackward)* differentiate_;
  std::vector<Offer> offers_;
};

}  // namespace

std::unique_ptr<Work> softmax_work(const CudnnHandle& cudnn, const KernelAt& kernel) {
  const bool log = kernel.op == "log_softmax";
  if (!log && kernel.op != "softmax")
    throw CardFault("E724", fmt::format("cuDNN has no kernel {}", kernel.op));
  // Under autocast frameworks widen inside the kernel.
  const int64_t tensors = kernel.pass == Pass::kForward ? 1 : 2;
  if (kernel.read != tensors * kernel.written)
    throw CardFault("E724", "cuDNN's softmax takes operands of one type");
  return std::make_unique<SoftmaxWork>(cudnn, kernel,
                                       log ? CUDNN_SOFTMAX_LOG : CUDNN_SOFTMAX_ACCURATE);
}

}  // namespace plimsoll::calibrate
