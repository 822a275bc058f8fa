// backend: cuDNN's graph interface, loaded at run time: its functions, and descriptors with typed
// attributes in place of untyped ones.
#pragma once

#include <cudnn.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/shared_library.h"

namespace plimsoll {

// The functions asking needs, of a library that stays loaded.
struct CudnnFunctions {
  decltype(cudnnGetVersion)* version = nullptr;
  decltype(cudnnGetCudartVersion)* cuda_version = nullptr;
  decltype(cudnnGetLastErrorString)* last_error = nullptr;
  decltype(cudnnBackendCreateDescriptor)* create = nullptr;
  decltype(cudnnBackendDestroyDescriptor)* destroy = nullptr;
  decltype(cudnnBackendSetAttribute)* set = nullptr;
  decltype(cudnnBackendGetAttribute)* get = nullptr;
  decltype(cudnnBackendFinalize)* finalize = nullptr;

  // What every cuDNN has, 7 too; and what 8 and later have, E702.
  static Result<CudnnFunctions> versions_of(const SharedLibrary& library);
  Result<void> load_backend(const SharedLibrary& library);

  void check(cudnnStatus_t status, const char* what) const;  // throws CudnnRefusal
};

// What cuDNN answers instead of success; the text is its own.
struct CudnnRefusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void CudnnFunctions::check(cudnnStatus_t status, const char* what) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char text[512] = "";
  if (last_error) last_error(text, sizeof text);
  throw CudnnRefusal(std::string(what) + ": status " + std::to_string(status) +
                     (text[0] ? std::string(", ") + text : ""));
}

class Descriptor {
 public:
  Descriptor(const CudnnFunctions& cudnn, cudnnBackendDescriptorType_t type) : cudnn_(&cudnn) {
    check(cudnn.create(type, &raw_), "create a descriptor");
  }
  Descriptor(Descriptor&& other) noexcept
      : cudnn_(other.cudnn_), raw_(std::exchange(other.raw_, nullptr)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (raw_) cudnn_->destroy(raw_);
  }

  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  const std::vector<T>& values) {
    check(cudnn_->set(raw_, name, type, static_cast<int64_t>(values.size()), values.data()),
          "set an attribute");
    return *this;
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
    return set(name, CUDNN_TYPE_INT64, values);
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::vector{other.raw_});
  }
  Descriptor& finalize(const char* what) {
    check(cudnn_->finalize(raw_), what);
    return *this;
  }

  cudnnBackendDescriptor_t raw() const { return raw_; }

  // At most `most` values, as many as there are.
  template <class T>
  std::vector<T> get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     int64_t most) const {
    std::vector<T> values(static_cast<size_t>(most));
    int64_t count = 0;
    check(cudnn_->get(raw_, name, type, most, &count, values.data()), "get an attribute");
    values.resize(static_cast<size_t>(std::min(count, most)));
    return values;
  }
  // Descriptors that cuDNN fills; those it did not are dropped.
  std::vector<Descriptor> get_descriptors(cudnnBackendAttributeName_t name,
                                          cudnnBackendDescriptorType_t type, int64_t most) const {
    std::vector<Descriptor> made;
    std::vector<cudnnBackendDescriptor_t> slots;
    for (int64_t i = 0; i < most; ++i) slots.push_back(made.emplace_back(*cudnn_, type).raw_);
    int64_t count = 0;
    check(cudnn_->get(raw_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &count, slots.data()),
          "get descriptors");
    while (static_cast<int64_t>(made.size()) > std::max<int64_t>(0, count)) made.pop_back();
    return made;
  }

 private:
  void check(cudnnStatus_t status, const char* what) const { cudnn_->check(status, what); }

  const CudnnFunctions* cudnn_;
  cudnnBackendDescriptor_t raw_ = nullptr;
};

}  // namespace plimsoll
