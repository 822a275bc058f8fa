#include "calibrate/nvidia_library.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "estimator/app/cli/child.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

void add_there(std::vector<std::string>& files, const fs::path& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored)) files.push_back(path.lexically_normal().string());
}

}  // namespace

NvidiaFolders find_nvidia_folders() {
  NvidiaFolders folders;
  if (const char* named = std::getenv("PLIMSOLL_CUDNN")) folders.named = named;
  const std::string python = cli::find_program("python3");
  if (python.empty()) return folders;
  constexpr std::chrono::seconds kPatience{10};
  const auto answer = cli::run_child(
      python, {"-c", "import nvidia; print('\\n'.join(nvidia.__path__))"}, kPatience);
  if (answer.status != 0) return folders;  // it has none
  std::istringstream lines(answer.out);
  for (std::string line; std::getline(lines, line);) folders.python3.push_back(line);
  return folders;
}

std::vector<std::string> candidates(const NvidiaFolders& folders, const std::string& package,
                                    const std::string& file, bool own_of_named) {
  std::vector<std::string> files;
  if (!folders.named.empty()) {
    const fs::path named = folders.named;
    // Installed: lib, lib64 or Debian's own; unpacked by pip: another package beside it, and the
    // packages of CUDA 13 in one folder.
    for (const char* lib : {"lib", "lib64", "lib/x86_64-linux-gnu", "."})
      add_there(files, named / lib / file);
    if (own_of_named) return files;
    for (const std::string& beside : {package, std::string("cu13")})
      add_there(files, named / ".." / beside / "lib" / file);
  }
  for (const std::string& nvidia : folders.python3) {
    for (const std::string& of : {package, std::string("cu13")})
      add_there(files, fs::path(nvidia) / of / "lib" / file);
  }
  files.push_back(file);
  return files;
}

}  // namespace plimsoll
