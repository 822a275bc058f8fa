#include "calibrate/nvrtc.h"

#include <fmt/format.h>

#include <array>

#include "graph/base/try.h"

namespace plimsoll::calibrate {
namespace {

using Program = struct OpaqueProgram*;
using Create = int(Program*, const char* source, const char* name, int headers,
                   const char* const* header_texts, const char* const* header_names);
using Destroy = int(Program*);
using Compile = int(Program, int options, const char* const* texts);
using Size = int(Program, size_t*);
using Text = int(Program, char*);
using ErrorText = const char*(int);
using Version = int(int*, int*);

}  // namespace

Result<Nvrtc> Nvrtc::open(const NvidiaFolders& folders, int cuda) {
  constexpr std::pair<int, const char*> kFiles[] = {
      {13, "libnvrtc.so.13"}, {12, "libnvrtc.so.12"}, {11, "libnvrtc.so.11.2"}};
  std::vector<std::string> files;
  for (const auto& [major, name] : kFiles) {
    const auto more = candidates(folders, "cuda_nvrtc", name);
    files.insert(major == cuda ? files.begin() : files.end(), more.begin(), more.end());
  }
  auto library = SharedLibrary::open(files);
  if (!library) {
    return error("E701", "CUDA's run-time compiler is missing: " + library.error().front().message,
                 {}, "pip install nvidia-cuda-nvrtc-cu12");
  }
  const auto version = TRY(library->function<Version>("nvrtcVersion"));
  int major = 0, minor = 0;
  version(&major, &minor);
  CardLibrary named{"NVRTC", fmt::format("{}.{}", major, minor), library->path()};
  return Nvrtc(std::move(*library), std::move(named));
}

Result<std::string> Nvrtc::compile(const std::string& source, int capability) const {
  const auto create = loaded_.function<Create>("nvrtcCreateProgram");
  const auto compile = loaded_.function<Compile>("nvrtcCompileProgram");
  const auto destroy = loaded_.function<Destroy>("nvrtcDestroyProgram");
  const auto code_size = loaded_.function<Size>("nvrtcGetCUBINSize");
  const auto code = loaded_.function<Text>("nvrtcGetCUBIN");
  const auto log_size = loaded_.function<Size>("nvrtcGetProgramLogSize");
  const auto log = loaded_.function<Text>("nvrtcGetProgramLog");
  if (!create || !compile || !destroy || !code_size || !code || !log_size || !log)
    return error("E702", library_.path + " lacks functions of NVRTC 11.2 and later");
  Program program = nullptr;
  if (const int status = (*create)(&program, source.c_str(), "plimsoll.cu", 0, nullptr, nullptr))
    return error("E722", fmt::format("NVRTC cannot create a program: status {}", status));
  const std::string architecture = fmt::format("--gpu-architecture=sm_{}", capability);
  const std::array<const char*, 1> options = {architecture.c_str()};
  const int status = (*compile)(program, static_cast<int>(options.size()), options.data());
  size_t size = 0;
  std::string text;
  if (status == 0) {
    (*code_size)(program, &size);
    text.resize(size);
    (*code)(program, text.data());
  } else {
    (*log_size)(program, &size);
    text.resize(size);
    (*log)(program, text.data());
  }
  (*destroy)(&program);
  if (status != 0)
    return error("E722",
                 fmt::format("NVRTC {}: status {}, {}", library_.version, status, text.c_str()));
  return text;
}

}  // namespace plimsoll::calibrate
