// A program of the user's PATH run as a child: no shell, standard output alone, bounded.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::cli {

// The path of an executable file in the first absolute folder of PATH that has one; else empty.
std::string find_program(const std::string& name);

struct ChildAnswer {
  int status = -1;  // of exit; -1 where it did not start, was ended by a signal, or took too long
  std::string out;  // at most 64 KiB
  bool timed_out = false;
};

enum class ChildErrors : uint8_t { kDropped, kWithOutput };
// Standard input of the child is /dev/null, as is its standard error, unless that goes with the
// output.
ChildAnswer run_child(const std::string& path, const std::vector<std::string>& arguments,
                      std::chrono::milliseconds limit, ChildErrors errors = ChildErrors::kDropped);

}  // namespace plimsoll::cli
