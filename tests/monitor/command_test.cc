#include "monitor/command.h"

#include <doctest/doctest.h>
#include <unistd.h>

using namespace plimsoll::monitor;

namespace {

sigset_t no_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  return none;
}

int status_of(const std::vector<std::string>& words) {
  auto command = Command::start(words, no_signals());
  if (!command) return -1;
  for (int i = 0; i < 5000; ++i) {
    if (const auto ended = command->ended()) return ended->status;
    ::usleep(2000);
  }
  return -2;
}

}  // namespace

TEST_CASE("a command's status is its own, and a signal's is 128 more") {
  CHECK(status_of({"true"}) == 0);
  CHECK(status_of({"sh", "-c", "exit 7"}) == 7);
  CHECK(status_of({"sh", "-c", "kill -TERM $$"}) == 128 + SIGTERM);
}

TEST_CASE("a command that cannot run is told before anything is watched") {
  const auto code = [](const char* word) {
    auto command = Command::start({word}, no_signals());
    return command ? std::string() : command.error().front().code;
  };
  CHECK(code("plimsoll-has-no-such-command") == "E712");
  CHECK(code("/") == "E713");
}

TEST_CASE("a process descriptor tells that it ended") {
  auto command = Command::start({"true"}, no_signals());
  REQUIRE(command);
  const int descriptor = open_process_descriptor(command->pid());
  if (descriptor >= 0) ::close(descriptor);
  CHECK(open_process_descriptor(0) < 0);
  while (!command->ended()) ::usleep(1000);
}
