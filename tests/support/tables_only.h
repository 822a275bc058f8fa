// The program that stands beside the tests, plimsoll as a build without Vega makes it.
#pragma once

#include <filesystem>
#include <string>

namespace plimsoll::test {

inline std::string tables_only() {
  const auto tests = std::filesystem::read_symlink("/proc/self/exe");
  return tests.parent_path() / "plimsoll_tables_only";
}

}  // namespace plimsoll::test
