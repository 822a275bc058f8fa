// plimsoll-calibrate as a program, beside the plimsoll that PLIMSOLL_BINARY names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/run_plimsoll.h"

namespace plimsoll::test {

// Empty where it is not built: its tests are then not run.
inline std::string calibrate_binary() {
  if (!plimsoll_binary()) return {};
  const auto path = std::filesystem::path(plimsoll_binary()).parent_path() / "plimsoll-calibrate";
  return std::filesystem::exists(path) ? path.string() : std::string();
}

inline Ran run_calibrate(std::vector<std::string> arguments,
                         std::vector<std::string> environment = {}) {
  const std::string program = calibrate_binary();
  RunOptions options;
  options.program = program.c_str();
  options.environment = std::move(environment);
  options.address_space = RLIM_INFINITY;  // cuDNN and cuBLASLt map 1.5 GB
  options.seconds = 120;
  return run_plimsoll(std::move(arguments), std::move(options));
}

// Whether there is one: the test is not run where there is none.
inline bool has_calibrate() {
  if (!calibrate_binary().empty()) return true;
  not_run("no plimsoll-calibrate beside PLIMSOLL_BINARY");
  return false;
}

}  // namespace plimsoll::test
