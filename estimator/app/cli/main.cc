// The plimsoll command.
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>

#include "estimator/app/cli/command.h"
#include "estimator/app/cli/messages.h"

namespace plimsoll::cli {
namespace {

// The process ends with its answer: memory that it gave back before would be asked for again.
void keep_memory() {
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  ::mallopt(M_MMAP_THRESHOLD, 1 << 25);  // the most that is taken
  ::mallopt(M_TOP_PAD, 1 << 22);
  ::mallopt(M_MXFAST, 0);  // small blocks would be merged anew at each large one
}

}  // namespace
}  // namespace plimsoll::cli

int main(int argc, char** argv) {
  if (::getuid() != ::geteuid() || ::getgid() != ::getegid()) {
    std::fputs("plimsoll: error: refuses to run with another user's rights [E107]\n", stderr);
    return 2;
  }
  plimsoll::cli::keep_memory();
  plimsoll::cli::keep_standard_descriptors();
  try {
    return plimsoll::cli::run_command({argv + 1, argv + argc});
  } catch (const std::bad_alloc&) {
    std::fputs("plimsoll: error: out of memory [E801]\n", stderr);
    return 5;
  } catch (const std::exception& e) {
    std::fprintf(stderr,
                 "plimsoll: a bug of ours: %s [E901]; please report it with the command line\n",
                 e.what());
    return 70;
  }
}
