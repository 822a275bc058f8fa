#include "calibrate/cudnn/library.h"

#include <fmt/format.h>

#include "graph/base/try.h"

namespace plimsoll {

std::string version_text(size_t v) {
  const size_t scale = v >= 90000 ? 10000 : 1000;
  return fmt::format("{}.{}.{}", v / scale, v % scale / 100, v % 100);
}

Result<FoundCudnn> find_cudnn() {
  NvidiaFolders folders = find_nvidia_folders();
  std::vector<std::string> files;
  for (const char* name : {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so.7"}) {
    const auto more = candidates(folders, "cudnn", name, true);
    files.insert(files.end(), more.begin(), more.end());
  }
  if (files.empty()) {
    return error("E701", fmt::format("PLIMSOLL_CUDNN={} has no libcudnn.so", folders.named), {},
                 "it names a folder with lib/, as pip's nvidia/cudnn");
  }
  auto library = SharedLibrary::open(files);
  if (!library) {
    for (Diagnostic& d : library.error()) {
      d.message = "cuDNN is missing: " + d.message;
      d.help = kCudnnHelp;
    }
    return tl::make_unexpected(library.error());
  }
  return FoundCudnn{std::move(*library), std::move(folders)};
}

Result<FoundCublasLt> find_cublas_lt(const NvidiaFolders& folders, size_t cuda) {
  const std::string file = fmt::format("libcublasLt.so.{}", cuda / 1000);
  auto library = SharedLibrary::open(candidates(folders, "cublas", file));
  if (!library) {
    for (Diagnostic& d : library.error()) {
      d.message = fmt::format("cuDNN needs {}: {}", file, d.message);
      d.help = fmt::format("pip install nvidia-cublas-cu{}; {}", cuda / 1000, kCudnnHelp);
    }
    return tl::make_unexpected(library.error());
  }
  const auto version = TRY(library->function<size_t()>("cublasLtGetVersion"));
  const size_t v = version();  // 120103 for 12.1.3
  const size_t scale = v >= 100000 ? 10000 : 1000;
  LoadedLibrary loaded{"cuBLASLt", fmt::format("{}.{}.{}", v / scale, v % scale / 100, v % 100),
                       library->path()};
  return FoundCublasLt{std::move(*library), std::move(loaded)};
}

Result<CudnnFunctions> CudnnFunctions::versions_of(const SharedLibrary& library) {
  CudnnFunctions functions;
  const auto version = TRY(library.function<decltype(cudnnGetVersion)>("cudnnGetVersion"));
  const auto cuda = TRY(library.function<decltype(cudnnGetCudartVersion)>("cudnnGetCudartVersion"));
  functions.version = version;
  functions.cuda_version = cuda;
  return functions;
}

Result<void> CudnnFunctions::load_backend(const SharedLibrary& library) {
  Diagnostics missing;
  library.load(last_error, "cudnnGetLastErrorString", missing);
  library.load(create, "cudnnBackendCreateDescriptor", missing);
  library.load(destroy, "cudnnBackendDestroyDescriptor", missing);
  library.load(set, "cudnnBackendSetAttribute", missing);
  library.load(get, "cudnnBackendGetAttribute", missing);
  library.load(finalize, "cudnnBackendFinalize", missing);
  if (!missing.empty()) return tl::make_unexpected(missing);
  return {};
}

}  // namespace plimsoll
