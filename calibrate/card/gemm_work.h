// Matrix products by cuBLASLt, with each algorithm that its heuristic lists.
#pragma once

#include <memory>

#include "calibrate/card/work.h"
#include "calibrate/shared_library.h"

namespace plimsoll::calibrate {

// cuBLASLt and its handle in the driver's context.
class CublasLt {
 public:
  // E702 where the library lacks a function, E722 where it makes no handle.
  static Result<CublasLt> make(const SharedLibrary& library);
  // Throws CardFault; E724 for other types than fp64, fp32, fp16 and bf16.
  std::unique_ptr<Work> product(const Driver& driver, const KernelAt& kernel) const;
  struct Functions;

 private:
  explicit CublasLt(std::shared_ptr<const Functions> call) : call_(std::move(call)) {}
  std::shared_ptr<const Functions> call_;
};

}  // namespace plimsoll::calibrate
