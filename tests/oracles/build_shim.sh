#!/bin/sh
# Builds what lets PyTorch's CUDA path run without a GPU:  PYTHON=venv/bin/python ./build_shim.sh [FOLDER]
# FOLDER (default: build/ beside this script) receives shim.so (shim.cc) and a libcuda.so.1 in which every call fails.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/build}
mkdir -p "$folder"

# CUDA's headers come with PyTorch's own dependencies; their folder's name changes with CUDA's version.
torch=$("${PYTHON:-python3}" -c 'import importlib.util; print(importlib.util.find_spec("torch").submodule_search_locations[0])')
header=$(find "$torch/../nvidia" "${CUDA_HOME:-/usr/local/cuda}/include" -name cuda.h 2>/dev/null | head -n 1)
[ -n "$header" ] || { echo "cuda.h is neither beside torch nor in CUDA_HOME" >&2; exit 1; }

"${CXX:-g++}" -std=c++20 -O1 -w -fPIC -shared -DUSE_CUDA -I"$torch/include" -I"$torch/include/torch/csrc/api/include" \
  -I"$(dirname "$header")" "$here/shim.cc" -o "$folder/shim.so"

# The driver: 999 is CUDA_ERROR_UNKNOWN; 'no context is active' is the one true answer.
{
  echo 'extern "C" {'
  grep -oE '\bcu[A-Z][A-Za-z0-9]*(_v[0-9]+)?(_pt[ds]z?)?\b' "$header" | sort -u | grep -vx cuDevicePrimaryCtxGetState |
    sed 's/.*/int &() { return 999; }/'
  echo 'int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) { return *flags = *active = 0; }'
  echo '}'
} > "$folder/driver.cc"
"${CXX:-g++}" -O1 -w -fPIC -shared -Wl,-soname,libcuda.so.1 "$folder/driver.cc" -o "$folder/libcuda.so.1"
