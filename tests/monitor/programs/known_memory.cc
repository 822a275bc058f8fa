// A program of known memory, for tests of the monitor: takes 300 MiB in steps, holds, gives them
// back, then starts a child that takes 100 MiB. What the monitor should have seen is arithmetic.
//
//   known_memory [STEP_MS [HOLD_MS [alone | together | killed]]]
//
// alone (the default): the child runs after the memory was given back; together: while it is held.
// killed: the program ends itself by SIGKILL while it holds.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

constexpr size_t kMebibyte = size_t{1} << 20;

void pause_ms(int ms) { ::usleep(static_cast<useconds_t>(ms) * 1000); }

// Every page is written: it is resident.
void* take(size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) std::_Exit(9);
  std::memset(at, 1, bytes);
  return at;
}

void run_child(int hold_ms) {
  const pid_t child = ::fork();
  if (child == 0) {
    take(100 * kMebibyte);
    pause_ms(hold_ms);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

}  // namespace

int main(int argc, char** argv) {
  const int step_ms = argc > 1 ? std::atoi(argv[1]) : 50;
  const int hold_ms = argc > 2 ? std::atoi(argv[2]) : 500;
  const std::string_view how = argc > 3 ? argv[3] : "alone";
  constexpr int kSteps = 30;
  constexpr size_t kStep = 10 * kMebibyte;
  void* taken[kSteps];
  for (void*& at : taken) {
    at = take(kStep);
    pause_ms(step_ms);
  }
  pause_ms(hold_ms);
  if (how == "killed") ::kill(::getpid(), SIGKILL);
  if (how == "together") run_child(hold_ms);
  for (void* at : taken) ::munmap(at, kStep);
  if (how == "alone") run_child(hold_ms);
  return 7;
}
