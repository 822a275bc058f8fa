#include <fmt/format.h>

#include <array>

#include "calibrate/card/cudnn_tensor.h"
#include "calibrate/card/cudnn_work.h"

namespace plimsoll::calibrate {
namespace {

// Of cudnn_ops.h, by number; as the estimator calls them. A gradient's 0, 1 and 3 multiply without
// columns in memory.
constexpr std::array kForwardNames = {
    "implicit_gemm", "implicit_precomp_gemm", "gemm", "direct", "fft", "fft_tiling",
    "winograd",      "winograd_nonfused"};
constexpr std::array kDataNames = {"implicit_gemm", "implicit_precomp_gemm", "fft", "fft_tiling",
                                   "winograd",      "winograd_nonfused"};
constexpr std::array kWeightNames = {
    "implicit_gemm", "implicit_precomp_gemm", "fft",       "implicit_gemm",
    "winograd",      "winograd_nonfused",     "fft_tiling"};

class LegacyConvWork : public Work {
 public:
  LegacyConvWork(const CudnnHandle& cudnn, const KernelAt& kernel, const ConvQuestion& question)
      : cudnn_(cudnn),
        pass_(question.pass),
        scale_(question.dtype),
        x_(cudnn, question.dtype, input_of(question.problem), format_of(question.problem)),
        y_(cudnn, question.dtype, output_of(question.problem), format_of(question.problem)),
        filter_(make_descriptor<cudnnFilterDescriptor_t>(cudnn, "Filter")),
        convolution_(make_descriptor<cudnnConvolutionDescriptor_t>(cudnn, "Convolution")),
        set_math_(cudnn.function<decltype(::cudnnSetConvolutionMathType)>(
            "cudnnSetConvolutionMathType")) {
    describe(question, kernel.tensor_core);
    if (pass_ == Pass::kForward) {
      run_forward_ = cudnn.function<decltype(::cudnnConvolutionForward)>("cudnnConvolutionForward");
      list<cudnnConvolutionFwdAlgoPerf_t>("cudnnGetConvolutionForwardAlgorithm_v7", x_.raw(),
                                          filter_.get(), y_.raw(), kForwardNames);
    } else if (pass_ == Pass::kBackwardData) {
      run_data_ =
          cudnn.function<decltype(::cudnnConvolutionBackwardData)>("cudnnConvolutionBackwardData");
      list<cudnnConvolutionBwdDataAlgoPerf_t>("cudnnGetConvolutionBackwardDataAlgorithm_v7",
                                              filter_.get(), y_.raw(), x_.raw(), kDataNames);
    } else {
      run_weights_ = cudnn.function<decltype(::cudnnConvolutionBackwardFilter)>(
          "cudnnConvolutionBackwardFilter");
      list<cudnnConvolutionBwdFilterAlgoPerf_t>("cudnnGetConvolutionBackwardFilterAlgorithm_v7",
                                                x_.raw(), y_.raw(), filter_.get(), kWeightNames);
    }
    if (offers_.empty()) throw CardFault("E724", "cuDNN lists no algorithm");
  }

  const std::vector<Offer>& offers() const override { return offers_; }
  std::vector<int64_t> operand_bytes() const override {
    return {x_.bytes(), filter_bytes_, y_.bytes()};
  }
  void launch(size_t offer, std::span<const DeviceMemory> at,
              const DeviceMemory& workspace) override {
    const Listed& how = listed_[offer];
    cudnn_.check(set_math_(convolution_.get(), how.math), "choose a kind of arithmetic");
    cudnn_.check(run(how.number, at, workspace), "convolution");
  }

 private:
  struct Listed {
    int number;
    cudnnMathType_t math;
  };
  static std::array<int64_t, 4> input_of(const ConvProblem<int64_t>& p) {
    return {p.n, p.c, p.in[1], p.in[2]};
  }
  static std::array<int64_t, 4> output_of(const ConvProblem<int64_t>& p) {
    return {p.n, p.k, p.out[1], p.out[2]};
  }
  static cudnnTensorFormat_t format_of(const ConvProblem<int64_t>& p) {
    return p.channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
  }

  void describe(const ConvQuestion& question, bool tensor_core) {
    const ConvProblem<int64_t>& p = question.problem;
    const auto set_filter =
        cudnn_.function<decltype(::cudnnSetFilter4dDescriptor)>("cudnnSetFilter4dDescriptor");
    const auto set = cudnn_.function<decltype(::cudnnSetConvolution2dDescriptor)>(
        "cudnnSetConvolution2dDescriptor");
    const auto set_groups =
        cudnn_.function<decltype(::cudnnSetConvolutionGroupCount)>("cudnnSetConvolutionGroupCount");
    const auto sum = question.dtype == DType::kFloat64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    cudnn_.check(set_filter(filter_.get(), cudnn_type(question.dtype), format_of(p), narrow(p.k),
                            narrow(p.c / p.groups), narrow(p.filter[1]), narrow(p.filter[2])),
                 "describe a filter");
    cudnn_.check(set(convolution_.get(), narrow(p.pad[1]), narrow(p.pad[2]), narrow(p.stride[1]),
                     narrow(p.stride[2]), narrow(p.dilation[1]), narrow(p.dilation[2]),
                     CUDNN_CROSS_CORRELATION, sum),
                 "describe a convolution");
    cudnn_.check(set_groups(convolution_.get(), narrow(p.groups)), "describe groups");
    // Before 8 the default is without tensor cores, and there is no other word for that.
    const bool plain = cudnn_.version() < 8000;
    const auto math = tensor_core ? CUDNN_TENSOR_OP_MATH
                      : plain     ? CUDNN_DEFAULT_MATH
                                  : CUDNN_FMA_MATH;
    cudnn_.check(set_math_(convolution_.get(), math), "choose a kind of arithmetic");
    filter_bytes_ = bits(question.dtype) / 8 * p.k * (p.c / p.groups) * p.filter[1] * p.filter[2];
  }

  // What cuDNN's heuristic lists, in its order, with the memory that each needs.
  template <class Perf, class A, class B, class C, size_t N>
  void list(const char* function, A first, B second, C third,
            const std::array<const char*, N>& names) {
    using Get =
        cudnnStatus_t(cudnnHandle_t, A, B, cudnnConvolutionDescriptor_t, C, int, int*, Perf*);
    std::array<Perf, 2 * N> found{};
    int count = 0;
    cudnn_.check(
        cudnn_.function<Get>(function)(cudnn_.raw(), first, second, convolution_.get(), third,
                                       static_cast<int>(found.size()), &count, found.data()),
        "list algorithms");
    for (int i = 0; i < count; ++i) {
      const Perf& perf = found[static_cast<size_t>(i)];
      const auto number = static_cast<size_t>(perf.algo);
      if (perf.status != CUDNN_STATUS_SUCCESS || number >= N) continue;
      listed_.push_back({static_cast<int>(number), perf.mathType});
      offers_.push_back({.algorithm = names[number],
                         .workspace_bytes = static_cast<int64_t>(perf.memory),
                         .plan = {}});
    }
  }

  cudnnStatus_t run(int number, std::span<const DeviceMemory> at,
                    const DeviceMemory& workspace) const {
    void* const x = at[0].pointer();
    void* const w = at[1].pointer();
    void* const y = at[2].pointer();
    const auto bytes = static_cast<size_t>(workspace.bytes());
    switch (pass_) {
      case Pass::kForward:
        return run_forward_(cudnn_.raw(), scale_.one(), x_.raw(), x, filter_.get(), w,
                            convolution_.get(), static_cast<cudnnConvolutionFwdAlgo_t>(number),
                            workspace.pointer(), bytes, scale_.zero(), y_.raw(), y);
      case Pass::kBackwardData:
        return run_data_(cudnn_.raw(), scale_.one(), filter_.get(), w, y_.raw(), y,
                         convolution_.get(), static_cast<cudnnConvolutionBwdDataAlgo_t>(number),
                         workspace.pointer(), bytes, scale_.zero(), x_.raw(), x);
      default:
        return run_weights_(cudnn_.raw(), scale_.one(), x_.raw(), x, y_.raw(), y,
                            convolution_.get(),
                            static_cast<cudnnConvolutionBwdFilterAlgo_t>(number),
                            workspace.pointer(), bytes, scale_.zero(), filter_.get(), w);
    }
  }

  CudnnHandle cudnn_;
  Pass pass_;
  CudnnScale scale_;
  CudnnTensor x_, y_;
  CudnnDescriptor<cudnnFilterDescriptor_t> filter_;
  CudnnDescriptor<cudnnConvolutionDescriptor_t> convolution_;
  decltype(::cudnnSetConvolutionMathType)* set_math_;
  decltype(::cudnnConvolutionForward)* run_forward_ = nullptr;
  decltype(::cudnnConvolutionBackwardData)* run_data_ = nullptr;
  decltype(::cudnnConvolutionBackwardFilter)* run_weights_ = nullptr;
  int64_t filter_bytes_ = 0;
  std::vector<Listed> listed_;
  std::vector<Offer> offers_;
};

}  // namespace

bool takes_legacy_calls(const CudnnHandle& cudnn, const ComputeCapability& card) {
  constexpr size_t kGraphs = 8000, kGraphsAlone = 9000;  // as cudnnGetVersion() counts up to 8
  return cudnn.version() < kGraphs ||
         (cudnn.version() < kGraphsAlone && card < ComputeCapability{7, 5});
}

std::unique_ptr<Work> legacy_conv_work(const CudnnHandle& cudnn, const KernelAt& kernel,
                                       const ConvQuestion& question) {
  return std::make_unique<LegacyConvWork>(cudnn, kernel, question);
}

}  // namespace plimsoll::calibrate
