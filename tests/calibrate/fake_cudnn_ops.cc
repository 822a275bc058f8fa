// Beside fake_cuda.cc in the same library: cuDNN's calls before its graphs. They refuse what the
// real ones refuse: extents that do not fit, operands that hold less than their tensor says. A
// batch norm takes 60 us, a pool 40 and 80 backward, a softmax 50, recurrent layers 70 with the
// standard algorithm; the persistent one is refused, the small one takes 35.
#include <cudnn.h>

#include <cstdlib>
#include <vector>

void fake_advance(double microseconds);              // fake_cuda.cc
bool fake_holds(const void* address, size_t bytes);  // on the card

struct cudnnTensorStruct {
  cudnnDataType_t type;
  std::vector<int> sizes;
};
struct cudnnPoolingStruct {
  int window, pad, stride;
};
struct cudnnFilterStruct {
  cudnnDataType_t type;
  std::vector<int> sizes;
};
struct cudnnConvolutionStruct {
  int pad, stride, dilation, groups;
  cudnnMathType_t math;
};
struct cudnnRNNDataStruct {
  cudnnDataType_t type;
  int steps, batch, width;
};
struct cudnnRNNStruct {
  cudnnRNNAlgo_t algorithm;
  cudnnDataType_t type;
  int input, hidden, layers, directions, gates;
  size_t weights() const {
    size_t all = 0;
    for (int layer = 0; layer < layers; ++layer) {
      const int in = layer == 0 ? input : hidden * directions;
      all += static_cast<size_t>(directions * gates * hidden * (in + hidden + 2));
    }
    return all;
  }
};

namespace {

size_t width(cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2;
}
size_t bytes(cudnnTensorDescriptor_t tensor) {
  size_t all = width(tensor->type);
  for (const int size : tensor->sizes) all *= static_cast<size_t>(size);
  return all;
}
size_t bytes(cudnnRNNDataDescriptor_t data) {
  return width(data->type) * static_cast<size_t>(data->steps) * static_cast<size_t>(data->batch) *
         static_cast<size_t>(data->width);
}
template <class D>
bool holds(const void* address, D descriptor) {
  return fake_holds(address, bytes(descriptor));
}
cudnnStatus_t took(bool sound, double microseconds) {
  if (!sound) return CUDNN_STATUS_BAD_PARAM;
  fake_advance(microseconds);
  return CUDNN_STATUS_SUCCESS;
}
template <class Struct>
cudnnStatus_t make(Struct** made) {
  *made = new Struct{};
  return CUDNN_STATUS_SUCCESS;
}
template <class Struct>
cudnnStatus_t drop(Struct* made) {
  delete made;
  return CUDNN_STATUS_SUCCESS;
}

size_t bytes(cudnnFilterDescriptor_t filter) {
  size_t all = width(filter->type);
  for (const int size : filter->sizes) all *= static_cast<size_t>(size);
  return all;
}

cudnnMathType_t without_tensor_cores() {
  return cudnnGetVersion() < 8000 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

// Whether the output is what filter, padding and stride make of the input.
bool fit(cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t conv,
         cudnnTensorDescriptor_t y) {
  const int reach = conv->dilation * (w->sizes[2] - 1) + 1;
  const int out = (x->sizes[2] + 2 * conv->pad - reach) / conv->stride + 1;
  return y->sizes[2] == out && x->sizes[1] == w->sizes[1] * conv->groups &&
         y->sizes[1] == w->sizes[0] && conv->math == without_tensor_cores();
}
template <class Perf, class Algorithm>
cudnnStatus_t list_algorithms(cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                              cudnnConvolutionDescriptor_t conv, cudnnTensorDescriptor_t y,
                              int* count, Perf* found, Algorithm first, Algorithm refused,
                              Algorithm last) {
  if (!fit(x, w, conv, y)) return CUDNN_STATUS_BAD_PARAM;
  *count = 3;
  for (int i = 0; i < 3; ++i) {
    found[i].algo = i == 0 ? first : i == 1 ? refused : last;
    found[i].status = i == 1 ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
    found[i].memory = i == 0 ? 4096 : 0;
    found[i].mathType = without_tensor_cores();
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t convolved(cudnnTensorDescriptor_t x, const void* at_x, cudnnFilterDescriptor_t w,
                        const void* at_w, cudnnTensorDescriptor_t y, const void* at_y,
                        const void* workspace, size_t size, bool winograd) {
  const bool sound = fake_holds(at_x, bytes(x)) && fake_holds(at_w, bytes(w)) &&
                     fake_holds(at_y, bytes(y)) && fake_holds(workspace, size) &&
                     size == (winograd ? 4096 : 0);
  return took(sound, winograd ? 25 : 45);
}

}  // namespace

extern "C" {

const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_BAD_PARAM       ? "CUDNN_STATUS_BAD_PARAM"
         : status == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED"
                                                : "another status";
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* made) { return make(made); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t made) { return drop(made); }
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  *tensor = {type, {n, c, h, w}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type,
                                         int count, const int sizes[], const int[]) {
  *tensor = {type, std::vector<int>(sizes, sizes + count)};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t,
                                  const void*, const cudnnTensorDescriptor_t x, const void* from,
                                  const void*, const cudnnTensorDescriptor_t y, void* to) {
  return took(holds(from, x) && holds(to, y) && x->sizes == y->sizes, 50);
}
cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t,
                                   const void*, const cudnnTensorDescriptor_t y, const void* at,
                                   const cudnnTensorDescriptor_t dy, const void* gradient,
                                   const void*, const cudnnTensorDescriptor_t dx, void* to) {
  return took(holds(at, y) && holds(gradient, dy) && holds(to, dx), 50);
}

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* made) { return make(made); }
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t made) { return drop(made); }
cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t pool, cudnnPoolingMode_t,
                                          cudnnNanPropagation_t, int window, int, int pad, int,
                                          int stride, int) {
  *pool = {window, pad, stride};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t, const cudnnPoolingDescriptor_t pool, const void*,
                                   const cudnnTensorDescriptor_t y, const void* at,
                                   const cudnnTensorDescriptor_t dy, const void* gradient,
                                   const cudnnTensorDescriptor_t x, const void* from, const void*,
                                   const cudnnTensorDescriptor_t dx, void* to) {
  const bool sound = holds(at, y) && holds(gradient, dy) && holds(from, x) && holds(to, dx);
  const int out = (x->sizes[2] + 2 * pool->pad - pool->window) / pool->stride + 1;
  return took(sound && y->sizes[2] == out && dx->sizes == x->sizes, 80);
}
cudnnStatus_t cudnnPoolingForward(cudnnHandle_t, const cudnnPoolingDescriptor_t pool, const void*,
                                  const cudnnTensorDescriptor_t x, const void* from, const void*,
                                  const cudnnTensorDescriptor_t y, void* to) {
  const int out = (x->sizes[2] + 2 * pool->pad - pool->window) / pool->stride + 1;
  return took(holds(from, x) && holds(to, y) && y->sizes[2] == out, 40);
}

cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t x,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnActivationDescriptor_t, size_t* size) {
  *size = static_cast<size_t>(x->sizes[1]);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t x,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnActivationDescriptor_t,
    size_t* size) {
  *size = 2 * static_cast<size_t>(x->sizes[1]);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnActivationDescriptor_t,
    const cudnnTensorDescriptor_t, size_t* size) {
  *size = 0;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const void*, const void*,
    const cudnnTensorDescriptor_t x, const void* from, const cudnnTensorDescriptor_t, const void*,
    const cudnnTensorDescriptor_t y, void* to, const cudnnTensorDescriptor_t p, const void* scale,
    const void* bias, double, void* mean, void* variance, double, void* saved_mean,
    void* saved_deviation, cudnnActivationDescriptor_t, void* workspace, size_t size, void*,
    size_t) {
  const bool parameters = holds(scale, p) && holds(bias, p) && holds(mean, p) &&
                          holds(variance, p) && holds(saved_mean, p) && holds(saved_deviation, p);
  return took(holds(from, x) && holds(to, y) && parameters && fake_holds(workspace, size) &&
                  size == static_cast<size_t>(x->sizes[1]),
              60);
}
cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const void*, const void*, const void*,
    const void*, const cudnnTensorDescriptor_t x, const void* from, const cudnnTensorDescriptor_t,
    const void*, const cudnnTensorDescriptor_t dy, const void* gradient,
    const cudnnTensorDescriptor_t, void*, const cudnnTensorDescriptor_t dx, void* to,
    const cudnnTensorDescriptor_t p, const void* scale, const void*, void* scale_gradient,
    void* bias_gradient, double, const void* mean, const void* deviation,
    cudnnActivationDescriptor_t, void* workspace, size_t size, void*, size_t) {
  const bool parameters = holds(scale, p) && holds(scale_gradient, p) && holds(bias_gradient, p) &&
                          holds(mean, p) && holds(deviation, p);
  return took(holds(from, x) && holds(gradient, dy) && holds(to, dx) && parameters &&
                  fake_holds(workspace, size) && size == 2 * static_cast<size_t>(x->sizes[1]),
              60);
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* made) { return make(made); }
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t made) { return drop(made); }
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t, int k, int c, int h, int w) {
  *filter = {type, {k, c, h, w}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* made) {
  return make(made);
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t made) {
  return drop(made);
}
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t conv, int pad, int,
                                              int stride, int, int dilation, int,
                                              cudnnConvolutionMode_t, cudnnDataType_t) {
  *conv = {pad, stride, dilation, 1, CUDNN_DEFAULT_MATH};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t conv, int groups) {
  conv->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t conv, cudnnMathType_t math) {
  conv->math = math;
  return CUDNN_STATUS_SUCCESS;
}
// Winograd with 4096 bytes, which takes 25 us, then one that is not supported, then the first, 45.
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                     const cudnnFilterDescriptor_t w,
                                                     const cudnnConvolutionDescriptor_t conv,
                                                     const cudnnTensorDescriptor_t y, int,
                                                     int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t* found) {
  return list_algorithms(x, w, conv, y, count, found, CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD,
                         CUDNN_CONVOLUTION_FWD_ALGO_FFT, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t y,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t x, int, int* count,
    cudnnConvolutionBwdDataAlgoPerf_t* found) {
  return list_algorithms(x, w, conv, y, count, found, CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD,
                         CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, CUDNN_CONVOLUTION_BWD_DATA_ALGO_0);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t y,
    const cudnnConvolutionDescriptor_t conv, const cudnnFilterDescriptor_t w, int, int* count,
    cudnnConvolutionBwdFilterAlgoPerf_t* found) {
  return list_algorithms(
      x, w, conv, y, count, found, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED,
      CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0);
}
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t, const void*, const cudnnTensorDescriptor_t x,
                                      const void* from, const cudnnFilterDescriptor_t w,
                                      const void* filter, const cudnnConvolutionDescriptor_t,
                                      cudnnConvolutionFwdAlgo_t how, void* workspace, size_t size,
                                      const void*, const cudnnTensorDescriptor_t y, void* to) {
  return convolved(x, from, w, filter, y, to, workspace, size, how != 0);
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t, const void*,
                                           const cudnnFilterDescriptor_t w, const void* filter,
                                           const cudnnTensorDescriptor_t y, const void* from,
                                           const cudnnConvolutionDescriptor_t,
                                           cudnnConvolutionBwdDataAlgo_t how, void* workspace,
                                           size_t size, const void*,
                                           const cudnnTensorDescriptor_t x, void* to) {
  return convolved(x, to, w, filter, y, from, workspace, size, how != 0);
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t, const void*,
                                             const cudnnTensorDescriptor_t x, const void* from,
                                             const cudnnTensorDescriptor_t y, const void* gradient,
                                             const cudnnConvolutionDescriptor_t,
                                             cudnnConvolutionBwdFilterAlgo_t how, void* workspace,
                                             size_t size, const void*,
                                             const cudnnFilterDescriptor_t w, void* to) {
  return convolved(x, from, w, to, y, gradient, workspace, size, how != 0);
}

cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* made) {
  *made = static_cast<cudnnDropoutDescriptor_t>(std::calloc(1, 1));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t made) {
  std::free(made);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t, cudnnHandle_t, float, void*,
                                        size_t, unsigned long long) {
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* made) { return make(made); }
cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t made) { return drop(made); }
cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t data, cudnnDataType_t type,
                                        cudnnRNNDataLayout_t, int steps, int batch, int vector,
                                        const int lengths[], void*) {
  if (lengths[0] != steps || lengths[batch - 1] != steps) return CUDNN_STATUS_BAD_PARAM;
  *data = {type, steps, batch, vector};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* made) { return make(made); }
cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t made) { return drop(made); }
cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnn, cudnnRNNAlgo_t algorithm,
                                       cudnnRNNMode_t cell, cudnnRNNBiasMode_t,
                                       cudnnDirectionMode_t direction, cudnnRNNInputMode_t,
                                       cudnnDataType_t type, cudnnDataType_t, cudnnMathType_t,
                                       int32_t input, int32_t hidden, int32_t projected,
                                       int32_t layers, cudnnDropoutDescriptor_t dropout, uint32_t) {
  if (algorithm == CUDNN_RNN_ALGO_PERSIST_STATIC) return CUDNN_STATUS_NOT_SUPPORTED;
  if (!dropout || projected != hidden) return CUDNN_STATUS_BAD_PARAM;
  const int gates = cell == CUDNN_LSTM ? 4 : cell == CUDNN_GRU ? 3 : 1;
  *rnn = {algorithm, type, input, hidden, layers, direction == CUDNN_BIDIRECTIONAL ? 2 : 1, gates};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t rnn, cudnnForwardMode_t,
                                        cudnnRNNDataDescriptor_t x, size_t* workspace,
                                        size_t* reserve) {
  *workspace = bytes(x) + static_cast<size_t>(rnn->algorithm);
  *reserve = bytes(x);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t rnn, size_t* size) {
  *size = rnn->weights() * width(rnn->type);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnRNNForward(cudnnHandle_t, cudnnRNNDescriptor_t rnn, cudnnForwardMode_t,
                              const int32_t[], cudnnRNNDataDescriptor_t x, const void* from,
                              cudnnRNNDataDescriptor_t y, void* to, cudnnTensorDescriptor_t h,
                              const void* hx, void* hy, cudnnTensorDescriptor_t c, const void* cx,
                              void* cy, size_t weights, const void* weight, size_t size,
                              void* workspace, size_t reserve_size, void* reserve) {
  const bool states = holds(hx, h) && holds(hy, h) && holds(cx, c) && holds(cy, c);
  const bool sound = holds(from, x) && holds(to, y) && states && fake_holds(weight, weights) &&
                     fake_holds(workspace, size) && fake_holds(reserve, reserve_size) &&
                     y->width == rnn->hidden * rnn->directions && x->width == rnn->input;
  return took(sound, rnn->algorithm == CUDNN_RNN_ALGO_STANDARD ? 70 : 35);
}
cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t, cudnnRNNDescriptor_t rnn, const int32_t[],
                                      cudnnRNNDataDescriptor_t y, const void* at, const void* dy,
                                      cudnnRNNDataDescriptor_t x, void* dx,
                                      cudnnTensorDescriptor_t h, const void* hx, const void* dhy,
                                      void* dhx, cudnnTensorDescriptor_t c, const void* cx,
                                      const void* dcy, void* dcx, size_t weights,
                                      const void* weight, size_t size, void* workspace,
                                      size_t reserve_size, void* reserve) {
  const bool states = holds(hx, h) && holds(dhy, h) && holds(dhx, h) && holds(cx, c) &&
                      holds(dcy, c) && holds(dcx, c);
  const bool sound = holds(at, y) && holds(dy, y) && holds(dx, x) && states &&
                     fake_holds(weight, weights) && fake_holds(workspace, size) &&
                     fake_holds(reserve, reserve_size);
  return took(sound, rnn->algorithm == CUDNN_RNN_ALGO_STANDARD ? 70 : 35);
}
cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t, cudnnRNNDescriptor_t rnn, cudnnWgradMode_t,
                                         const int32_t[], cudnnRNNDataDescriptor_t x,
                                         const void* from, cudnnTensorDescriptor_t h,
                                         const void* hx, cudnnRNNDataDescriptor_t y, const void* at,
                                         size_t weights, void* gradient, size_t size,
                                         void* workspace, size_t reserve_size, void* reserve) {
  const bool sound = holds(from, x) && holds(hx, h) && holds(at, y) &&
                     fake_holds(gradient, weights) && fake_holds(workspace, size) &&
                     fake_holds(reserve, reserve_size);
  return took(sound, rnn->algorithm == CUDNN_RNN_ALGO_STANDARD ? 70 : 35);
}

}  // extern "C"
