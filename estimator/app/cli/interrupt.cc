#include "estimator/app/cli/interrupt.h"

#include <csignal>
#include <mutex>

namespace plimsoll::cli {
namespace {

volatile std::sig_atomic_t was_interrupted = 0;
std::mutex listening;
int listeners = 0;
struct sigaction action_before {};

void note_interrupt(int) {
  was_interrupted = 1;
  ::sigaction(SIGINT, &action_before, nullptr);
}

}  // namespace

Interrupts::Interrupts() {
  const std::lock_guard lock(listening);
  if (listeners++ > 0) return;
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  ::sigaction(SIGINT, nullptr, &action_before);
  ::sigaction(SIGINT, &action, nullptr);
}

Interrupts::~Interrupts() {
  const std::lock_guard lock(listening);
  if (--listeners > 0) return;
  ::sigaction(SIGINT, &action_before, nullptr);
  was_interrupted = 0;
}

bool interrupted() { return was_interrupted != 0; }

}  // namespace plimsoll::cli
