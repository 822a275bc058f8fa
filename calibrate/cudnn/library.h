// library: cuDNN and the cuBLASLt that it needs, wherever they are on this machine.
#pragma once

#include <string>
#include <vector>

#include "calibrate/cudnn.h"
#include "calibrate/cudnn/backend.h"
#include "calibrate/nvidia_library.h"

namespace plimsoll {

// What brings cuDNN, for messages.
inline constexpr const char* kCudnnHelp =
    "'./dev calibrate ask ...' fetches cuDNN 9.10.2, which supports Maxwell to Hopper; "
    "PLIMSOLL_CUDNN names another folder";

// 9 writes 91002 for 9.10.2, 8 and before 8902 for 8.9.2 (cudnn_version.h).
std::string version_text(size_t version);

struct FoundCudnn {
  SharedLibrary library;
  NvidiaFolders folders;
};
// E701 where there is none, with kCudnnHelp.
Result<FoundCudnn> find_cudnn();

// cuBLASLt of the CUDA that cuDNN was built for: it ends the process where that is missing.
struct FoundCublasLt {
  SharedLibrary library;
  LoadedLibrary loaded;
};
// E701 where there is none, E702 where it is something else.
Result<FoundCublasLt> find_cublas_lt(const NvidiaFolders& folders, size_t cuda);

}  // namespace plimsoll
