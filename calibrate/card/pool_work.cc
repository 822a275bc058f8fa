#include <fmt/format.h>

#include "calibrate/card/cudnn_tensor.h"
#include "calibrate/card/cudnn_work.h"

namespace plimsoll::calibrate {
namespace {

using Pool = PoolProblem<int64_t>;

cudnnPoolingMode_t mode_of(const std::string& op, const Pool& p) {
  if (op == "max_pool") return CUDNN_POOLING_MAX;
  return p.counts_padding ? CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
                          : CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
}

class PoolWork : public Work {
 public:
  PoolWork(const CudnnHandle& cudnn, const KernelAt& kernel, const Pool& p)
      : cudnn_(cudnn),
        forward_(kernel.pass == Pass::kForward),
        scale_(kernel.dtype),
        x_(cudnn, kernel.dtype, std::array{p.n, p.c, p.in[1], p.in[2]}, order(p)),
        y_(cudnn, kernel.dtype, std::array{p.n, p.c, p.out[1], p.out[2]}, order(p)),
        make_(cudnn.function<decltype(::cudnnPoolingForward)>("cudnnPoolingForward")),
        differentiate_(cudnn.function<decltype(::cudnnPoolingBackward)>("cudnnPoolingBackward")),
        pool_(make_descriptor<cudnnPoolingDescriptor_t>(cudnn, "Pooling")),
        offers_{{.algorithm = "cudnn_pooling", .workspace_bytes = 0, .plan = {}}} {
    const auto set =
        cudnn.function<decltype(::cudnnSetPooling2dDescriptor)>("cudnnSetPooling2dDescriptor");
    cudnn.check(set(pool_.get(), mode_of(kernel.op, p), CUDNN_NOT_PROPAGATE_NAN,
                    narrow(p.window[1]), narrow(p.window[2]), narrow(p.pad[1]), narrow(p.pad[2]),
                    narrow(p.stride[1]), narrow(p.stride[2])),
                "describe a pool");
  }

  const std::vector<Offer>& offers() const override { return offers_; }
  // x, y; backward their gradients too.
  std::vector<int64_t> operand_bytes() const override {
    if (forward_) return {x_.bytes(), y_.bytes()};
    return {x_.bytes(), y_.bytes(), x_.bytes(), y_.bytes()};
  }
  void launch(size_t, std::span<const DeviceMemory> at, const DeviceMemory&) override {
    const auto status =
        forward_ ? make_(cudnn_.raw(), pool_.get(), scale_.one(), x_.raw(), at[0].pointer(),
                         scale_.zero(), y_.raw(), at[1].pointer())
                 : differentiate_(cudnn_.raw(), pool_.get(), scale_.one(), y_.raw(),
                                  at[1].pointer(), y_.raw(), at[3].pointer(), x_.raw(),
                                  at[0].pointer(), scale_.zero(), x_.raw(), at[2].pointer());
    cudnn_.check(status, "pool");
  }

 private:
  static cudnnTensorFormat_t order(const Pool& p) {
    return p.channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
  }

  CudnnHandle cudnn_;
  bool forward_;
  CudnnScale scale_;
  CudnnTensor x_, y_;
  decltype(::cudnnPoolingForward)* make_;
  decltype(::cudnnPoolingBackward)* differentiate_;
  CudnnDescriptor<cudnnPoolingDescriptor_t> pool_;
  std::vector<Offer> offers_;
};

}  // namespace

std::unique_ptr<Work> pool_work(const CudnnHandle& cudnn, const KernelAt& kernel) {
  const auto* pool = std::get_if<Pool>(&kernel.problem);
  if (!pool) throw CardFault("E724", fmt::format("{} has no windows that cuDNN takes", kernel.op));
  return std::make_unique<PoolWork>(cudnn, kernel, *pool);
}

}  // namespace plimsoll::calibrate
