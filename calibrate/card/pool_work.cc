#include <fmt/format.h>

#include "calibrate/card/cudnn_tensor.h"
#include "calibrate/card/cudnn_work.h"
#include "calibrate/pool_shape.h"

namespace plimsoll::calibrate {
namespace {

class PoolWork : public Work {
 public:
  PoolWork(const CudnnHandle& cudnn, const KernelAt& kernel, const PoolShape& p)
      : cudnn_(cudnn),
        scale_(kernel.dtype),
        x_(cudnn, kernel.dtype, std::array{int64_t{1}, p.planes, p.in, p.in}),
        y_(cudnn, kernel.dtype, std::array{int64_t{1}, p.planes, p.out, p.out}),
        run_(cudnn.function<decltype(::cudnnPoolingForward)>("cudnnPoolingForward")),
        destroy_(cudnn.function<decltype(::cudnnDestroyPoolingDescriptor)>(
            "cudnnDestroyPoolingDescriptor")),
        offers_{{.algorithm = "cudnn_pooling", .workspace_bytes = 0, .plan = {}}} {
    const auto create =
        cudnn.function<decltype(::cudnnCreatePoolingDescriptor)>("cudnnCreatePoolingDescriptor");
    const auto set =
        cudnn.function<decltype(::cudnnSetPooling2dDescriptor)>("cudnnSetPooling2dDescriptor");
    const auto mode =
        kernel.op == "max_pool" ? CUDNN_POOLING_MAX : CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
    const int window = narrow(p.window), pad = narrow(p.pad), stride = narrow(p.stride);
    cudnn.check(create(&pool_), "make a pool");
    cudnn.check(set(pool_, mode, CUDNN_NOT_PROPAGATE_NAN, window, window, pad, pad, stride, stride),
                "describe a pool");
  }
  ~PoolWork() override { destroy_(pool_); }

  const std::vector<Offer>& offers() const override { return offers_; }
  std::vector<int64_t> operand_bytes() const override { return {x_.bytes(), y_.bytes()}; }
  void launch(size_t, std::span<const DeviceMemory> at, const DeviceMemory&) override {
    cudnn_.check(run_(cudnn_.raw(), pool_, scale_.one(), x_.raw(), at[0].pointer(), scale_.zero(),
                      y_.raw(), at[1].pointer()),
                 "pool");
  }

 private:
  CudnnHandle cudnn_;
  CudnnScale scale_;
  CudnnTensor x_, y_;
  decltype(::cudnnPoolingForward)* run_;
  decltype(::cudnnDestroyPoolingDescriptor)* destroy_;
  cudnnPoolingDescriptor_t pool_ = nullptr;
  std::vector<Offer> offers_;
};

}  // namespace

std::unique_ptr<Work> pool_work(const CudnnHandle& cudnn, const KernelAt& kernel) {
  const auto shape = pool_shape(kernel);
  if (!shape) throw CardFault("E724", fmt::format("what {} covers is not told", kernel.op));
  return std::make_unique<PoolWork>(cudnn, kernel, *shape);
}

}  // namespace plimsoll::calibrate
