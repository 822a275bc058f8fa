// A library that stands for cuDNN and cuBLASLt: two plans for every question, with as many bytes of
// workspace as the batch has samples. FAKE_CUDNN_VERSION is what it claims to be (91002);
// FAKE_CUDNN_CUDA the CUDA that it was built for (12090);
// FAKE_CUDNN_CRASH_AT the batch over which it crashes; FAKE_CUDNN_MICROSECONDS how long it thinks.
#include <cudnn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

int64_t fake_samples();

namespace {

int64_t samples = 0;  // of the tensor called x

int64_t number(const char* name, int64_t usual) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : usual;
}

template <class T>
cudnnStatus_t give(int64_t most, int64_t* count, void* values, T value) {
  *count = 1;
  if (most > 0) std::memcpy(values, &value, sizeof value);
  return CUDNN_STATUS_SUCCESS;
}

int64_t last_samples = 0;

}  // namespace

int64_t fake_samples() { return last_samples; }  // for fake_cuda.cc

extern "C" {

size_t cudnnGetVersion() { return static_cast<size_t>(number("FAKE_CUDNN_VERSION", 91002)); }
size_t cudnnGetCudartVersion() { return static_cast<size_t>(number("FAKE_CUDNN_CUDA", 12090)); }
size_t cublasLtGetVersion() { return 120103; }
void cudnnGetLastErrorString(char* text, size_t size) { std::strncpy(text, "fake", size); }

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t,
                                           cudnnBackendDescriptor_t* made) {
  *made = static_cast<cudnnBackendDescriptor_t>(std::calloc(1, sizeof(int64_t)));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t made) {
  std::free(made);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t) { return CUDNN_STATUS_SUCCESS; }

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t, const void* values) {
  if (name == CUDNN_ATTR_TENSOR_DIMENSIONS && samples == 0)
    std::memcpy(&samples, values, sizeof samples);
  if (samples != 0) last_samples = samples;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t most, int64_t* count,
                                       void* values) {
  static const char kJson[] = R"({"knobChoices": {"CUDNN_KNOB_TYPE_TILE_SIZE": 2}})";
  static int64_t plan = 0;
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      if (samples == number("FAKE_CUDNN_CRASH_AT", -1)) std::abort();
      usleep(static_cast<useconds_t>(number("FAKE_CUDNN_MICROSECONDS", 0)));
      *count = 2;
      plan = 0;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINECFG_ENGINE:
      *count = 1;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
      return give<int64_t>(most, count, values, plan == 0 ? 12 : 0);
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE: {
      const int64_t bytes = plan++ == 0 ? samples : 0;
      if (plan == 2) samples = 0;  // the next x is of another question
      return give<int64_t>(most, count, values, bytes);
    }
    case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION:
      *count = sizeof kJson - 1;
      if (most >= *count) std::memcpy(values, kJson, sizeof kJson - 1);
      return CUDNN_STATUS_SUCCESS;
    default:
      *count = 0;
      return CUDNN_STATUS_SUCCESS;
  }
}

}  // extern "C"
