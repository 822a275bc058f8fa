// ^C, for work that ends well where it stands.
#pragma once

namespace plimsoll::cli {

constexpr int kInterrupted = 130;  // the exit status, as a shell's of a program that ^C ended

// From now on the first ^C is noted, a second one ends the program at once.
void listen_for_interrupts();
bool interrupted();

}  // namespace plimsoll::cli
