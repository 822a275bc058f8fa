// Beside fake_cudnn.cc in the same library: what stands for CUDA's driver, cuBLASLt and NVRTC, and
// runs what the fake cuDNN lists. One card with a clock of its own: a call of cuDNN takes 20 us, of
// cuBLASLt 30, a kernel of ours 10. FAKE_CUDA_GPUS is how many there are (1); FAKE_CUDA_MEMORY the
// bytes of each (8 GiB), FAKE_CUDA_CAPABILITY its compute capability (75); FAKE_CUDNN_FAIL_AT the
// batch at which cuDNN fails to run.
#include <cublasLt.h>
#include <cuda.h>
#include <cudnn.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>

int64_t fake_samples();  // of the convolution that cuDNN was asked about last

namespace {

double now = 0;  // ms, on the card
size_t in_use = 0;
// Of what a library loads with its first kernel.
void load_modules(size_t bytes) {
  static std::map<size_t, bool> loaded;
  if (!loaded[bytes]) in_use += bytes;
  loaded[bytes] = true;
}
std::map<CUdeviceptr, size_t> allocated;

int64_t number(const char* name, int64_t usual) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : usual;
}
// At 20 GB/s of the host's time.
CUresult copy(size_t bytes) {
  usleep(static_cast<useconds_t>(bytes / 20'000));
  return CUDA_SUCCESS;
}
// A microsecond, which a launch takes of the host's.
void take_host_time() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(1);
  while (std::chrono::steady_clock::now() < until) continue;
}
size_t memory() { return static_cast<size_t>(number("FAKE_CUDA_MEMORY", int64_t{8} << 30)); }

}  // namespace

// For fake_cudnn_ops.cc.
void fake_advance(double microseconds) { now += microseconds / 1000; }
bool fake_holds(const void* address, size_t bytes) {
  if (bytes == 0) return true;
  const auto at = allocated.find(reinterpret_cast<CUdeviceptr>(address));
  return at != allocated.end() && at->second >= bytes;
}

extern "C" {

CUresult cuInit(unsigned) {
  return number("FAKE_CUDA_GPUS", 1) > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_NO_DEVICE       ? "no CUDA-capable device is detected"
          : error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory"
                                              : "another fault";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = static_cast<int>(number("FAKE_CUDA_GPUS", 1));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int index) {
  *device = index;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  std::strncpy(name, "Tesla T4", static_cast<size_t>(size));
  return CUDA_SUCCESS;
}
#undef cuDeviceGetUuid
CUresult cuDeviceGetUuid(CUuuid* id, CUdevice) {
  std::memset(id, 0x1A, sizeof *id);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  const int capability = static_cast<int>(number("FAKE_CUDA_CAPABILITY", 75));
  *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? capability / 10
           : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? capability % 10
           : which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? 40
                                                                   : 4 << 20;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = reinterpret_cast<CUcontext>(&now);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuMemGetInfo(size_t* free, size_t* total) {
  *total = memory();
  *free = *total - in_use;
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  static CUdeviceptr next = 1 << 20;
  if (in_use + bytes > memory()) return CUDA_ERROR_OUT_OF_MEMORY;
  in_use += bytes;
  *address = next;
  next += (bytes + 511) / 512 * 512;
  allocated[*address] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr address) {
  const auto at = allocated.find(address);
  if (at == allocated.end()) return CUDA_ERROR_INVALID_VALUE;
  in_use -= at->second;
  allocated.erase(at);
  return CUDA_SUCCESS;
}
CUresult cuMemAllocHost(void** address, size_t bytes) {
  *address = std::malloc(bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* address) {
  std::free(address);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr, const void*, size_t bytes, CUstream) { return copy(bytes); }
CUresult cuMemcpyDtoHAsync(void*, CUdeviceptr, size_t bytes, CUstream) { return copy(bytes); }
CUresult cuMemcpyDtoDAsync(CUdeviceptr, CUdeviceptr, size_t bytes, CUstream) { return copy(bytes); }
CUresult cuStreamCreate(CUstream* stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(&now);
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) { return CUDA_SUCCESS; }
CUresult cuEventCreate(CUevent* event, unsigned) {
  *event = static_cast<CUevent>(std::calloc(1, sizeof(double)));
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  std::free(event);
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream) {
  std::memcpy(static_cast<void*>(event), &now, sizeof now);
  return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent) { return CUDA_SUCCESS; }
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* ms, CUevent begin, CUevent end) {
  double from = 0, to = 0;
  std::memcpy(&from, static_cast<const void*>(begin), sizeof from);
  std::memcpy(&to, static_cast<const void*>(end), sizeof to);
  *ms = static_cast<float>(to - from);
  return CUDA_SUCCESS;
}
CUresult cuModuleLoadData(CUmodule* module, const void*) {
  *module = reinterpret_cast<CUmodule>(&now);
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char*) {
  *function = reinterpret_cast<CUfunction>(&now);
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CUstream, void**, void**) {
  now += .010;
  take_host_time();
  return CUDA_SUCCESS;
}

// NVRTC, as calibrate/nvrtc.cc types it.
int nvrtcVersion(int* major, int* minor) {
  *major = 12;
  *minor = 9;
  return 0;
}
int nvrtcCreateProgram(void** program, const char*, const char*, int, const char* const*,
                       const char* const*) {
  *program = &now;
  return 0;
}
int nvrtcCompileProgram(void*, int, const char* const*) { return 0; }
int nvrtcDestroyProgram(void**) { return 0; }
int nvrtcGetCUBINSize(void*, size_t* size) {
  *size = 4;
  return 0;
}
int nvrtcGetCUBIN(void*, char* code) {
  std::memcpy(code, "code", 4);
  return 0;
}
int nvrtcGetProgramLogSize(void*, size_t* size) {
  *size = 0;
  return 0;
}
int nvrtcGetProgramLog(void*, char*) { return 0; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(&now);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t,
                                        cudaDataType_t) {
  *made = static_cast<cublasLtMatmulDesc_t>(std::calloc(1, 8));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t made) {
  std::free(made);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t,
                                              const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType, uint64_t,
                                          uint64_t, int64_t) {
  *made = static_cast<cublasLtMatrixLayout_t>(std::calloc(1, 8));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t made) {
  std::free(made);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t,
                                                cublasLtMatrixLayoutAttribute_t, const void*,
                                                size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = static_cast<cublasLtMatmulPreference_t>(std::calloc(1, 8));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t made) {
  std::free(made);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* count) {
  *count = 1;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  results[0].workspaceSize = 4096;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t*,
                                                    cublasLtMatmulAlgoConfigAttributes_t,
                                                    void* value, size_t, size_t* written) {
  const int32_t seven = 7;
  std::memcpy(value, &seven, sizeof seven);
  *written = sizeof seven;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*,
                              cublasLtMatrixLayout_t, const void*, cublasLtMatrixLayout_t,
                              const void*, const void*, cublasLtMatrixLayout_t, void*,
                              cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*, void*, size_t,
                              cudaStream_t) {
  load_modules(size_t{8} << 20);
  now += .030;
  return CUBLAS_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(&now);
  in_use += size_t{64} << 20;  // of the card
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t,
                                  cudnnBackendDescriptor_t) {
  if (fake_samples() == number("FAKE_CUDNN_FAIL_AT", -1)) return CUDNN_STATUS_EXECUTION_FAILED;
  load_modules(size_t{32} << 20);
  now += .020;
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
