// One pretended GPU for PyTorch's dispatcher.
//
// Under FakeTensorMode no kernel runs and no device memory is touched, yet the CUDA code path still
// asks which devices and streams exist and what the device can do. This library is preloaded, so
// its definitions win over libc10_cuda's and libtorch_cuda's. ORACLE_CAPABILITY (default 61, that
// is 6.1) is the compute capability; it decides among other things which fused attention kernels
// are considered.
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdlib>
#include <string>

namespace {

c10::cuda::CUDAStream only_stream() {
  const c10::Device device(c10::DeviceType::CUDA, 0);
  const c10::Stream stream(c10::Stream::DEFAULT, device);
  return c10::cuda::CUDAStream(c10::cuda::CUDAStream::UNCHECKED, stream);
}

cudaDeviceProp describe() {
  const char* wish = std::getenv("ORACLE_CAPABILITY");
  const int capability = wish ? std::stoi(wish) : 61;
  cudaDeviceProp gpu{};
  std::string("pretended").copy(gpu.name, sizeof gpu.name - 1);
  gpu.major = capability / 10;
  gpu.minor = capability % 10;
  gpu.warpSize = 32;
  gpu.multiProcessorCount = 28;
  gpu.maxThreadsPerBlock = 1024;
  gpu.maxThreadsPerMultiProcessor = 2048;
  gpu.maxGridSize[0] = 0x7fffffff;
  gpu.maxGridSize[1] = gpu.maxGridSize[2] = 0xffff;
  gpu.sharedMemPerBlock = 48 << 10;
  gpu.sharedMemPerBlockOptin = capability < 80 ? 48 << 10 : 163 << 10;
  gpu.sharedMemPerMultiprocessor = 96 << 10;
  gpu.regsPerBlock = 1 << 16;
  gpu.l2CacheSize = 4 << 20;
  gpu.totalGlobalMem = std::size_t{12} << 30;
  return gpu;
}

}  // namespace

namespace c10::cuda {

// Which devices: number 0, and nobody needs to switch to it.
DeviceIndex device_count() noexcept { return 1; }
DeviceIndex device_count_ensure_non_zero() { return 1; }
DeviceIndex current_device() { return 0; }
DeviceIndex ExchangeDevice(DeviceIndex) { return 0; }
DeviceIndex MaybeExchangeDevice(DeviceIndex) { return 0; }
bool hasPrimaryContext(DeviceIndex) { return false; }
void set_device(DeviceIndex, const bool) {}
void SetTargetDevice() {}
void device_synchronize() {}
cudaError_t SetDevice(DeviceIndex, const bool) { return cudaSuccess; }
cudaError_t MaybeSetDevice(DeviceIndex) { return cudaSuccess; }
cudaError_t GetDevice(DeviceIndex* device) { return *device = 0, cudaSuccess; }
cudaError_t GetDeviceCount(int* count) { return *count = 1, cudaSuccess; }

// Which stream: the default one.
CUDAStream getDefaultCUDAStream(DeviceIndex) { return only_stream(); }
CUDAStream getCurrentCUDAStream(DeviceIndex) { return only_stream(); }
CUDAStream getStreamFromPool(const bool, DeviceIndex) { return only_stream(); }
CUDAStream getStreamFromPool(const int, DeviceIndex) { return only_stream(); }
void setCurrentCUDAStream(CUDAStream) {}

}  // namespace c10::cuda

namespace at::cuda {

cudaDeviceProp* getDeviceProperties(c10::DeviceIndex) {
  static cudaDeviceProp gpu = describe();
  return &gpu;
}
cudaDeviceProp* getCurrentDeviceProperties() { return getDeviceProperties(0); }
int warp_size() { return 32; }

}  // namespace at::cuda
