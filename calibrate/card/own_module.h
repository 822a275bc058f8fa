// OwnModule: the kernels of own_kernels.h on a card.
#pragma once

#include <memory>

#include "calibrate/card/work.h"
#include "calibrate/nvrtc.h"
#include "graph/ir/kernel.h"

namespace plimsoll::calibrate {

class OwnModule {
 public:
  // Throws CardFault.
  OwnModule(const Driver& driver, const Nvrtc& nvrtc);

  // Random numbers of a type.
  void fill(const DeviceMemory& memory, DType dtype) const;
  void wait(double seconds) const;
  void nothing() const;
  void move(CUdeviceptr in, int64_t read, CUdeviceptr out, int64_t written) const;

  // A kernel that reads and writes as many bytes as this one: what bounds element-wise work.
  std::unique_ptr<Work> moving(const KernelAt& kernel) const;
  // One that copies the rows which as many indices name. Throws CardFault E724 where the rows are
  // single numbers: then it is no look-up.
  std::unique_ptr<Work> gathering(const KernelAt& kernel) const;
  // `bytes` of each row.
  void gather(CUdeviceptr indices, int64_t rows, CUdeviceptr table, CUdeviceptr out,
              int64_t bytes) const;

 private:
  CUfunction find(CUmodule module, const char* name) const;
  void launch(CUfunction function, int64_t threads, void** arguments) const;

  const Driver& driver_;
  int sms_ = 1;
  CUfunction fill_ = nullptr, move_ = nullptr, gather_ = nullptr, gather_narrow_ = nullptr;
  CUfunction wait_ = nullptr, nothing_ = nullptr;
};

}  // namespace plimsoll::calibrate
