// nvrtc: CUDA's compiler as a library, loaded at run time. Its few entry points are typed here, by
// NVIDIA's "NVRTC" documentation 12.9: its header comes with a package of 90 MB.
#pragma once

#include <string>

#include "calibrate/card.h"
#include "calibrate/nvidia_library.h"
#include "calibrate/shared_library.h"

namespace plimsoll::calibrate {

class Nvrtc {
 public:
  // That of CUDA `cuda`, where it is one of 11, 12 and 13, before the others: cuDNN, which finds
  // the one that is loaded, compiles with that of its own CUDA alone. E701 where there is none,
  // E702 where it lacks a function.
  static Result<Nvrtc> open(const NvidiaFolders& folders, int cuda = 0);

  const CardLibrary& library() const { return library_; }
  // Machine code for a compute capability (90 for 9.0). E722 with the compiler's words.
  Result<std::string> compile(const std::string& source, int capability) const;

 private:
  Nvrtc(SharedLibrary loaded, CardLibrary library)
      : loaded_(std::move(loaded)), library_(std::move(library)) {}

  SharedLibrary loaded_;
  CardLibrary library_;
};

}  // namespace plimsoll::calibrate
