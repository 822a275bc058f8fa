// Stands for libcuda.so.1 where the real cuDNN compiles kernels without a GPU: it wants a driver's
// functions to be there, and calls none of them while it lists plans. The driver has no GPU.
extern "C" {

int cuInit(unsigned) { return 100; }  // CUDA_ERROR_NO_DEVICE
int cuDriverGetVersion(int* version) {
  *version = 12090;
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 0;
  return 0;
}
int cuGetErrorName(int, const char** text) {
  *text = "CUDA_ERROR_NO_DEVICE";
  return 0;
}
int cuGetErrorString(int, const char** text) {
  *text = "no CUDA-capable device is detected";
  return 0;
}
#define PLIMSOLL_NO_GPU(name) \
  int name() { return 100; }
PLIMSOLL_NO_GPU(cuCtxGetCurrent)
PLIMSOLL_NO_GPU(cuCtxGetLimit)
PLIMSOLL_NO_GPU(cuCtxPopCurrent)
PLIMSOLL_NO_GPU(cuCtxPushCurrent)
PLIMSOLL_NO_GPU(cuDeviceGet)
PLIMSOLL_NO_GPU(cuKernelGetAttribute)
PLIMSOLL_NO_GPU(cuKernelSetAttribute)
PLIMSOLL_NO_GPU(cuLaunchCooperativeKernel)
PLIMSOLL_NO_GPU(cuLaunchKernel)
PLIMSOLL_NO_GPU(cuLaunchKernelEx)
PLIMSOLL_NO_GPU(cuLibraryGetKernel)
PLIMSOLL_NO_GPU(cuLibraryLoadData)
PLIMSOLL_NO_GPU(cuLibraryLoadFromFile)
PLIMSOLL_NO_GPU(cuLibraryUnload)
PLIMSOLL_NO_GPU(cuLinkAddData)
PLIMSOLL_NO_GPU(cuLinkComplete)
PLIMSOLL_NO_GPU(cuLinkCreate)
PLIMSOLL_NO_GPU(cuLinkDestroy)
PLIMSOLL_NO_GPU(cuOccupancyMaxPotentialClusterSize)
PLIMSOLL_NO_GPU(cuStreamGetCtx)

}  // extern "C"
