// The whole, on a program of known memory (programs/known_memory.cc).
#include "monitor/watch.h"

#include <doctest/doctest.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tests/support/samples.h"

using namespace plimsoll;
using namespace plimsoll::monitor;
using plimsoll::test::card;
using plimsoll::test::kMebibyte;

namespace {

sigset_t empty_set() {
  sigset_t none;
  ::sigemptyset(&none);
  return none;
}

class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() { ::close(descriptor_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// Never readable: nobody asks to stop.
int nobody() {
  const sigset_t none = empty_set();
  return ::signalfd(-1, &none, SFD_CLOEXEC | SFD_NONBLOCK);
}

Summary watched(std::vector<std::string> words, GpuSource* gpus = nullptr) {
  words.insert(words.begin(), PLIMSOLL_KNOWN_MEMORY);
  auto command = Command::start(words, empty_set());
  REQUIRE(command);
  Watch watch(ProcFolder(), command->pid(), &*command, gpus,
              {.interval_ns = 20'000'000, .pids_are_ours = false, .look_share = 0.5});
  const Descriptor signals(nobody());
  CHECK(watch.run(signals.get(), [](const Observation&) {}) == Watch::End::kProcessEnded);
  return watch.summary();
}

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / kMebibyte; }

// A card that fails, then tells.
class FailingGpu : public GpuSource {
 public:
  std::string description() const override { return "failing"; }
  GpuReadings read() override {
    GpuReadings all{.gpus = {card(40, std::nullopt)}, .faults = {}};
    if (calls_++ == 0) {
      all.gpus[0].used_bytes.reset();
      all.faults = {"GPU 0: nvmlDeviceGetMemoryInfo: GPU is lost"};
    }
    return all;
  }

 private:
  int calls_ = 0;
};

}  // namespace

// A child lives longer than it takes to be looked for, and its shared pages to be read (every
// second), on a machine that does much besides.
constexpr const char* kHeld = "4000";

// A program's own pages beside those it takes: some 1 to 3 MiB of libraries and stack.
TEST_CASE("a peak of 300 MiB is seen within 1 %, and the child after it") {
  const Summary s = watched({"10", kHeld, "alone"});
  CHECK(mebibytes(s.host_peak) > 300);
  CHECK(mebibytes(s.host_peak) < 303);
  CHECK(s.processes == 2);
  CHECK(s.exit_status == 7);
  CHECK(s.ended);
  CHECK(s.samples > 10);
  CHECK(s.minor_faults > 102'000);  // 400 MiB in pages of 4 KiB
  CHECK(s.basis == DeviceBasis::kNone);
}

TEST_CASE("a child that shares its parent's 300 MiB adds its own 100 alone") {
  const Summary s = watched({"10", kHeld, "together"});
  CHECK(mebibytes(s.host_peak) > 400);
  CHECK(mebibytes(s.host_peak) < 404);
  CHECK(mebibytes(s.rss_peak) > 690);
  REQUIRE(s.pss_peak);
  CHECK(mebibytes(*s.pss_peak) == doctest::Approx(400).epsilon(0.01));
}

TEST_CASE("a command that is killed has a summary, and its status is a shell's") {
  const Summary s = watched({"5", "50", "killed"});
  CHECK(s.exit_status == 128 + SIGKILL);
  CHECK(mebibytes(s.host_peak) > 300);
  CHECK(mebibytes(s.host_peak) < 303);
}

TEST_CASE("a process of others is watched until it ends, and its status is not ours to know") {
  auto command = Command::start({PLIMSOLL_KNOWN_MEMORY, "5", "200", "killed"}, empty_set());
  REQUIRE(command);
  Watch watch(ProcFolder(), command->pid(), nullptr, nullptr, {.interval_ns = 20'000'000});
  const Descriptor signals(nobody());
  CHECK(watch.run(signals.get(), [](const Observation&) {}) == Watch::End::kProcessEnded);
  const Summary s = watch.summary();
  CHECK(s.ended);
  CHECK(!s.exit_status);
  CHECK(mebibytes(s.host_peak) > 300);
  while (!command->ended()) ::usleep(1000);
}

TEST_CASE("the first sample's share of a CPU is one of a real interval") {
  // Of a process that is busy since long: a share since its birth over no time was 10,000 %.
  auto command = Command::start({"sh", "-c", "while :; do :; done"}, empty_set());
  REQUIRE(command);
  ::usleep(300'000);
  for (const int64_t interval :
       {int64_t{20'000'000}, int64_t{100'000'000}, int64_t{3'600'000'000}}) {
    CAPTURE(interval);
    sigset_t asked = empty_set();
    ::sigaddset(&asked, SIGTERM);
    sigset_t before;
    ::pthread_sigmask(SIG_BLOCK, &asked, &before);
    const Descriptor signals(::signalfd(-1, &asked, SFD_CLOEXEC | SFD_NONBLOCK));
    Watch watch(ProcFolder(), command->pid(), nullptr, nullptr, {.interval_ns = interval});
    std::optional<double> share;
    watch.run(signals.get(), [&](const Observation& o) {
      if (!share) share = o.sample.cpu_share;
      ::raise(SIGTERM);
    });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    REQUIRE(share);
    CHECK(*share < 2.5);  // one core, and a tick of 10 ms in 20
  }
  ::kill(command->pid(), SIGKILL);
  while (!command->ended()) ::usleep(1000);
}

TEST_CASE("whoever asks to stop is given what is known, and the process goes on") {
  sigset_t asked = empty_set();
  ::sigaddset(&asked, SIGTERM);
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, &asked, &before);
  const Descriptor signals(::signalfd(-1, &asked, SFD_CLOEXEC | SFD_NONBLOCK));
  auto command = Command::start({"sleep", "30"}, empty_set());
  REQUIRE(command);
  Watch watch(ProcFolder(), command->pid(), &*command, nullptr, {.interval_ns = 20'000'000});
  int samples = 0;
  const auto end = watch.run(signals.get(), [&](const Observation&) {
    if (++samples == 3) ::raise(SIGTERM);
  });
  CHECK(end == Watch::End::kAskedToStop);
  CHECK(watch.stop_signal() == SIGTERM);
  CHECK(!watch.summary().ended);
  CHECK(!command->ended());  // never signalled
  ::kill(command->pid(), SIGKILL);
  while (!command->ended()) ::usleep(1000);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("a card that fails at first is told, and its figures are shown when it tells them") {
  FailingGpu gpu;
  const Summary s = watched({"1", "200", "killed"}, &gpu);
  CHECK(s.faults == std::vector<std::string>{"GPU 0: nvmlDeviceGetMemoryInfo: GPU is lost"});
  CHECK(s.basis == DeviceBasis::kCard);
  CHECK(s.device_peak == 3072 * kMebibyte);
}
