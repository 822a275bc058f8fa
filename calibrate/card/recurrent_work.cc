#include <fmt/format.h>

#include "calibrate/card/cudnn_tensor.h"
#include "calibrate/card/cudnn_work.h"
#include "estimator/kernels/recurrent_algorithm.h"

namespace plimsoll::calibrate {
namespace {

using Problem = RecurrentProblem<int64_t>;

// From here on the lengths of sequences are read from a descriptor alone (cuDNN's release notes,
// 8.9.1); before, from the card's memory too.
constexpr size_t kLengthsInDescriptor = 8901;

struct Algorithm {
  RecurrentAlgorithm name;
  cudnnRNNAlgo_t cudnn;
};
constexpr Algorithm kAlgorithms[] = {
    {RecurrentAlgorithm::kStandard, CUDNN_RNN_ALGO_STANDARD},
    {RecurrentAlgorithm::kPersistent, CUDNN_RNN_ALGO_PERSIST_STATIC},
    {RecurrentAlgorithm::kPersistentSmall, CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H}};

cudnnRNNMode_t mode_of(Cell cell) {
  switch (cell) {
    case Cell::kRnnTanh:
      return CUDNN_RNN_TANH;
    case Cell::kRnnRelu:
      return CUDNN_RNN_RELU;
    case Cell::kGru:
      return CUDNN_GRU;
    case Cell::kLstm:
      return CUDNN_LSTM;
  }
  return CUDNN_LSTM;
}

// As PyTorch sets it (aten/src/ATen/native/cudnn/RNN.cpp).
cudnnMathType_t math_of(const KernelAt& kernel) {
  if (bits(kernel.dtype) == 16) return CUDNN_TENSOR_OP_MATH;
  return kernel.tensor_core ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

// A sequence of vectors for each sample, all of one length.
class SequenceData {
 public:
  SequenceData(const CudnnHandle& cudnn, const KernelAt& kernel, const Problem& p, int64_t vector)
      : sequence_(make_descriptor<cudnnRNNDataDescriptor_t>(cudnn, "RNNData")),
        bytes_(bits(kernel.dtype) / 8 * p.timesteps * p.batch * vector) {
    const auto set =
        cudnn.function<decltype(::cudnnSetRNNDataDescriptor)>("cudnnSetRNNDataDescriptor");
    const std::vector<int> lengths(static_cast<size_t>(p.batch), narrow(p.timesteps));
    cudnn.check(set(raw(), cudnn_type(kernel.dtype), CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
                    narrow(p.timesteps), narrow(p.batch), narrow(vector), lengths.data(), nullptr),
                "describe a sequence");
  }
  cudnnRNNDataDescriptor_t raw() const { return sequence_.get(); }
  int64_t bytes() const { return bytes_; }

 private:
  CudnnDescriptor<cudnnRNNDataDescriptor_t> sequence_;
  int64_t bytes_;
};

// No dropout between layers: it draws no random numbers and has no state.
CudnnDescriptor<cudnnDropoutDescriptor_t> no_dropout(const CudnnHandle& cudnn) {
  auto dropout = make_descriptor<cudnnDropoutDescriptor_t>(cudnn, "Dropout");
  const auto set =
      cudnn.function<decltype(::cudnnSetDropoutDescriptor)>("cudnnSetDropoutDescriptor");
  cudnn.check(set(dropout.get(), cudnn.raw(), 0, nullptr, 0, 0), "describe a dropout");
  return dropout;
}

// A stack of layers with one of the algorithms, and what it needs beside its operands.
class Layers {
 public:
  Layers(const CudnnHandle& cudnn, const KernelAt& kernel, const Problem& p,
         cudnnDropoutDescriptor_t dropout, const SequenceData& x, cudnnRNNAlgo_t algorithm)
      : layers_(make_descriptor<cudnnRNNDescriptor_t>(cudnn, "RNN")) {
    describe(cudnn, kernel, p, dropout, algorithm);
    measure(cudnn, x);
  }
  cudnnRNNDescriptor_t raw() const { return layers_.get(); }
  size_t workspace = 0, reserve = 0, weights = 0;  // bytes

 private:
  void describe(const CudnnHandle& cudnn, const KernelAt& kernel, const Problem& p,
                cudnnDropoutDescriptor_t dropout, cudnnRNNAlgo_t algorithm) {
    const auto set =
        cudnn.function<decltype(::cudnnSetRNNDescriptor_v8)>("cudnnSetRNNDescriptor_v8");
    const auto wide = kernel.dtype == DType::kFloat64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    cudnn.check(set(raw(), algorithm, mode_of(p.cell), CUDNN_RNN_DOUBLE_BIAS,
                    p.directions == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL,
                    p.skip_input ? CUDNN_SKIP_INPUT : CUDNN_LINEAR_INPUT, cudnn_type(kernel.dtype),
                    wide, math_of(kernel), narrow(p.input), narrow(p.hidden), narrow(p.hidden),
                    narrow(p.layers), dropout, CUDNN_RNN_PADDED_IO_ENABLED),
                "describe recurrent layers");
  }
  void measure(const CudnnHandle& cudnn, const SequenceData& x) {
    const auto spaces =
        cudnn.function<decltype(::cudnnGetRNNTempSpaceSizes)>("cudnnGetRNNTempSpaceSizes");
    const auto weight =
        cudnn.function<decltype(::cudnnGetRNNWeightSpaceSize)>("cudnnGetRNNWeightSpaceSize");
    cudnn.check(spaces(cudnn.raw(), raw(), CUDNN_FWD_MODE_TRAINING, x.raw(), &workspace, &reserve),
                "tell a workspace");
    cudnn.check(weight(cudnn.raw(), raw(), &weights), "tell the weights' size");
  }

  CudnnDescriptor<cudnnRNNDescriptor_t> layers_;
};

// Operands in the order in which every pass has them; what a pass does not touch is there all the
// same, but for the gradients.
enum Operand : size_t {
  kX,
  kY,
  kHx,
  kHy,
  kCx,
  kCy,
  kWeights,
  kReserve,
  kDx,
  kDy,
  kDhx,
  kDhy,
  kDcx,
  kDcy
};

class RecurrentWork : public Work {
 public:
  RecurrentWork(const Driver& driver, const CudnnHandle& cudnn, const KernelAt& kernel,
                const Problem& p)
      : cudnn_(cudnn),
        pass_(kernel.pass),
        dropout_(no_dropout(cudnn)),
        x_(cudnn, kernel, p, p.input),
        y_(cudnn, kernel, p, p.hidden * p.directions),
        state_(cudnn, kernel.dtype, std::array{p.layers * p.directions, p.batch, p.hidden}) {
    std::string refused;
    for (const Algorithm& algorithm : kAlgorithms) {
      try {
        layers_.push_back(Layers(cudnn, kernel, p, dropout_.get(), x_, algorithm.cudnn));
        offers_.push_back({.algorithm = std::string(name(algorithm.name)),
                           .workspace_bytes = static_cast<int64_t>(layers_.back().workspace),
                           .plan = {}});
      } catch (const CardFault& fault) {
        if (refused.empty()) refused = fault.what();  // of this algorithm alone
      }
    }
    if (layers_.empty()) throw CardFault("E724", refused);
    load_functions();
    if (cudnn.version() < kLengthsInDescriptor) upload_lengths(driver, p);
  }

  const std::vector<Offer>& offers() const override { return offers_; }
  std::vector<int64_t> operand_bytes() const override {
    size_t weights = 0, reserve = 0;
    for (const Layers& layers : layers_) {
      weights = std::max(weights, layers.weights);
      reserve = std::max(reserve, layers.reserve);
    }
    std::vector<int64_t> bytes = {x_.bytes(), y_.bytes()};
    bytes.insert(bytes.end(), 4, state_.bytes());
    bytes.push_back(static_cast<int64_t>(weights));
    bytes.push_back(static_cast<int64_t>(reserve));
    if (pass_ != Pass::kBackwardData) return bytes;
    bytes.insert(bytes.end(), {x_.bytes(), y_.bytes()});
    bytes.insert(bytes.end(), 4, state_.bytes());
    return bytes;
  }
  void launch(size_t offer, std::span<const DeviceMemory> at,
              const DeviceMemory& workspace) override {
    const Layers& layers = layers_[offer];
    switch (pass_) {
      case Pass::kForward:
        return cudnn_.check(forward(layers, at, workspace), "recurrent layers");
      case Pass::kBackwardData:
        return cudnn_.check(backward_data(layers, at, workspace), "recurrent layers");
      default:
        return cudnn_.check(backward_weights(layers, at, workspace), "recurrent layers");
    }
  }

 private:
  void load_functions() {
    if (pass_ == Pass::kForward) {
      forward_ = cudnn_.function<decltype(::cudnnRNNForward)>("cudnnRNNForward");
    } else if (pass_ == Pass::kBackwardData) {
      data_ = cudnn_.function<decltype(::cudnnRNNBackwardData_v8)>("cudnnRNNBackwardData_v8");
    } else {
      weights_ =
          cudnn_.function<decltype(::cudnnRNNBackwardWeights_v8)>("cudnnRNNBackwardWeights_v8");
    }
  }
  void upload_lengths(const Driver& driver, const Problem& p) {
    const std::vector<int32_t> lengths(static_cast<size_t>(p.batch), narrow(p.timesteps));
    const size_t bytes = lengths.size() * sizeof lengths[0];
    lengths_ = DeviceMemory(driver, static_cast<int64_t>(bytes));
    driver.check(driver.call().copy_in(lengths_.address(), lengths.data(), bytes, driver.stream()),
                 "copy to the card");
    driver.synchronize();
  }
  const int32_t* lengths() const { return static_cast<const int32_t*>(lengths_.pointer()); }

  cudnnStatus_t forward(const Layers& l, std::span<const DeviceMemory> at,
                        const DeviceMemory& workspace) const {
    return forward_(cudnn_.raw(), l.raw(), CUDNN_FWD_MODE_TRAINING, lengths(), x_.raw(),
                    at[kX].pointer(), y_.raw(), at[kY].pointer(), state_.raw(), at[kHx].pointer(),
                    at[kHy].pointer(), state_.raw(), at[kCx].pointer(), at[kCy].pointer(),
                    l.weights, at[kWeights].pointer(), l.workspace, workspace.pointer(), l.reserve,
                    at[kReserve].pointer());
  }
  cudnnStatus_t backward_data(const Layers& l, std::span<const DeviceMemory> at,
                              const DeviceMemory& workspace) const {
    return data_(cudnn_.raw(), l.raw(), lengths(), y_.raw(), at[kY].pointer(), at[kDy].pointer(),
                 x_.raw(), at[kDx].pointer(), state_.raw(), at[kHx].pointer(), at[kDhy].pointer(),
                 at[kDhx].pointer(), state_.raw(), at[kCx].pointer(), at[kDcy].pointer(),
                 at[kDcx].pointer(), l.weights, at[kWeights].pointer(), l.workspace,
                 workspace.pointer(), l.reserve, at[kReserve].pointer());
  }
  cudnnStatus_t backward_weights(const Layers& l, std::span<const DeviceMemory> at,
                                 const DeviceMemory& workspace) const {
    return weights_(cudnn_.raw(), l.raw(), CUDNN_WGRAD_MODE_ADD, lengths(), x_.raw(),
                    at[kX].pointer(), state_.raw(), at[kHx].pointer(), y_.raw(), at[kY].pointer(),
                    l.weights, at[kWeights].pointer(), l.workspace, workspace.pointer(), l.reserve,
                    at[kReserve].pointer());
  }

  CudnnHandle cudnn_;
  Pass pass_;
  CudnnDescriptor<cudnnDropoutDescriptor_t> dropout_;
  SequenceData x_, y_;
  CudnnTensor state_;
  DeviceMemory lengths_;
  decltype(::cudnnRNNForward)* forward_ = nullptr;
  decltype(::cudnnRNNBackwardData_v8)* data_ = nullptr;
  decltype(::cudnnRNNBackwardWeights_v8)* weights_ = nullptr;
  std::vector<Layers> layers_;
  std::vector<Offer> offers_;
};

}  // namespace

std::unique_ptr<Work> recurrent_work(const Driver& driver, const CudnnHandle& cudnn,
                                     const KernelAt& kernel) {
  const auto& problem = std::get<Problem>(kernel.problem);
  if (problem.unrolled)
    throw CardFault("E724", "the framework runs the operators of each time step");
  return std::make_unique<RecurrentWork>(driver, cudnn, kernel, problem);
}

}  // namespace plimsoll::calibrate
