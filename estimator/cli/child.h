// A program of the user's PATH run as a child: no shell, standard output alone, bounded.
#pragma once

#include <chrono>
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

// Standard input and error of the child are /dev/null.
ChildAnswer run_child(const std::string& path, const std::vector<std::string>& arguments,
                      std::chrono::milliseconds limit);

}  // namespace plimsoll::cli
