#include "calibrate/card/cudnn_handle.h"

#include <fmt/format.h>

#include "graph/base/try.h"

namespace plimsoll::calibrate {

Result<CudnnHandle> CudnnHandle::make(const SharedLibrary& library, const CudnnFunctions& functions,
                                      const Driver& driver) {
  const auto create = TRY(library.function<decltype(::cudnnCreate)>("cudnnCreate"));
  const auto set_stream = TRY(library.function<decltype(::cudnnSetStream)>("cudnnSetStream"));
  const auto text = TRY(library.function<decltype(::cudnnGetErrorString)>("cudnnGetErrorString"));
  cudnnHandle_t handle = nullptr;
  cudnnStatus_t status = create(&handle);
  if (status == CUDNN_STATUS_SUCCESS)
    status = set_stream(handle, reinterpret_cast<cudaStream_t>(driver.stream()));
  if (status != CUDNN_STATUS_SUCCESS)
    return error("E722", fmt::format("cuDNN cannot create a handle: {}", text(status)));
  return CudnnHandle(std::make_shared<const State>(State{library, functions, text, handle}));
}

void CudnnHandle::check(cudnnStatus_t status, const char* what) const {
  if (status != CUDNN_STATUS_SUCCESS)
    throw CardFault("E722", fmt::format("cuDNN: {}: {}", what, state_->error_text(status)));
}

void CudnnHandle::execute(const Descriptor& plan, const std::vector<int64_t>& ids,
                          const std::vector<void*>& addresses,
                          const DeviceMemory& workspace) const {
  const auto run = function<decltype(::cudnnBackendExecute)>("cudnnBackendExecute");
  try {
    Descriptor pack(graph(), CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, addresses)
        .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
             std::vector<void*>{workspace.pointer()})
        .finalize("the operands");
    graph().check(run(raw(), plan.raw(), pack.raw()), "execute");
  } catch (const CudnnRefusal& refusal) {
    throw CardFault("E722", fmt::format("cuDNN: {}", refusal.what()));
  }
}

}  // namespace plimsoll::calibrate
