// Convolutions by cuDNN's graph interface, with each plan that its heuristic lists.
#pragma once

#include <memory>

#include "calibrate/card/work.h"
#include "calibrate/cudnn/backend.h"
#include "estimator/memory/workspace/conv_question.h"

namespace plimsoll::calibrate {

// cuDNN and its handle in the driver's context.
class CudnnHandle {
 public:
  // E702 where the library lacks a function, E722 where it makes no handle.
  static Result<CudnnHandle> make(const SharedLibrary& library, const CudnnFunctions& functions,
                                  const Driver& driver);
  // Throws CardFault: E724 in cuDNN's words where it lists no plan.
  std::unique_ptr<Work> convolution(const ConvQuestion& question) const;
  struct Functions;

 private:
  explicit CudnnHandle(std::shared_ptr<const Functions> call) : call_(std::move(call)) {}
  std::shared_ptr<const Functions> call_;
};

}  // namespace plimsoll::calibrate
