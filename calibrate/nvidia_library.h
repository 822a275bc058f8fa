// nvidia_library: where NVIDIA's libraries lie on this machine, without a toolkit.
#pragma once

#include <string>
#include <vector>

#include "calibrate/shared_library.h"

namespace plimsoll {

struct NvidiaFolders {
  std::string named;                 // PLIMSOLL_CUDNN; empty where it is not set
  std::vector<std::string> python3;  // the `nvidia` packages of the python3 on the PATH
};
// Runs python3, where there is one: 50 ms.
NvidiaFolders find_nvidia_folders();

// Files that may be a library of one package ("cudnn", "cublas"), in the order in which they are
// tried: in `named` or beside it, in python3's packages, and last wherever the dynamic linker
// looks. Where the package is `own_of_named` it is in `named` or nowhere.
std::vector<std::string> candidates(const NvidiaFolders& folders, const std::string& package,
                                    const std::string& file, bool own_of_named = false);

}  // namespace plimsoll
