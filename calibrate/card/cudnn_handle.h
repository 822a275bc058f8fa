// CudnnHandle: cuDNN in the driver's context. What only some versions of it have is looked for
// where it is used, and costs no more than the kernels that need it.
#pragma once

#include <memory>
#include <span>

#include "calibrate/card/driver.h"
#include "calibrate/cudnn/backend.h"

namespace plimsoll::calibrate {

class CudnnHandle {
 public:
  // E702 where the library lacks a function, E722 where it makes no handle.
  static Result<CudnnHandle> make(const SharedLibrary& library, const CudnnFunctions& functions,
                                  const Driver& driver);

  const CudnnFunctions& graph() const { return state_->graph; }
  cudnnHandle_t raw() const { return state_->handle; }
  size_t version() const { return state_->graph.version(); }  // 91002

  // Throws CardFault, E724 where this cuDNN has no such function.
  template <class Signature>
  Signature* function(const char* name) const {
    const auto found = state_->library.function<Signature>(name);
    if (!found) throw CardFault("E724", found.error().front().message);
    return *found;
  }
  // Throws CardFault, E722 with cuDNN's words.
  void check(cudnnStatus_t status, const char* what) const;
  // A finalized plan on the driver's stream; addresses by the ids that its graph gave the tensors.
  void execute(const Descriptor& plan, const std::vector<int64_t>& ids,
               const std::vector<void*>& addresses, const DeviceMemory& workspace) const;

 private:
  struct State {
    SharedLibrary library;
    CudnnFunctions graph;
    decltype(::cudnnGetErrorString)* error_text;
    cudnnHandle_t handle;
  };
  explicit CudnnHandle(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace plimsoll::calibrate
