// The program that stands beside the tests, plimsoll as a build without Vega makes it; with
// PLIMSOLL_BINARY it is built too.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/run_plimsoll.h"

namespace plimsoll::test {

inline Ran run_tables_only(std::vector<std::string> words) {
  const auto tests = std::filesystem::read_symlink("/proc/self/exe");
  const std::string program = tests.parent_path() / "plimsoll_tables_only";
  // As the tests it may be built with sanitizers, whose shadow is large.
  return run_plimsoll(std::move(words),
                      {.program = program.c_str(), .address_space = RLIM_INFINITY});
}

}  // namespace plimsoll::test
