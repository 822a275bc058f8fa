// A tar archive's files by name, as `tar` and Python's tarfile write short names of plain files.
#pragma once

#include <cstdlib>
#include <map>
#include <string>

namespace plimsoll::test {

inline std::map<std::string, std::string> read_tar(const std::string& bytes) {
  constexpr size_t kBlock = 512, kNameBytes = 100, kSizeAt = 124;
  std::map<std::string, std::string> files;
  for (size_t at = 0; at + kBlock <= bytes.size() && bytes[at] != '\0';) {
    const std::string name(bytes.substr(at, kNameBytes).c_str());
    const size_t size = std::strtoull(bytes.c_str() + at + kSizeAt, nullptr, 8);
    files[name] = bytes.substr(at + kBlock, size);
    at += kBlock + (size + kBlock - 1) / kBlock * kBlock;
  }
  return files;
}

}  // namespace plimsoll::test
