// ^C, for work that ends well where it stands.
#pragma once

namespace plimsoll::cli {

constexpr int kInterrupted = 130;  // the exit status, as a shell's of a program that ^C ended

// While one lives, on any thread, the first ^C is noted; the next one does what it did before,
// which in a program of its own ends it at once.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
};
// False where nobody listens.
bool interrupted();

}  // namespace plimsoll::cli
