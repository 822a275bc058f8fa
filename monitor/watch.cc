#include "monitor/watch.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "monitor/attribution.h"
#include "monitor/ticker.h"

namespace plimsoll::monitor {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kFirstInterval = kSecond / 10;
constexpr double kPhaseWindow = 1;   // seconds
constexpr double kPhaseSamples = 5;  // and so many samples at least

int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

double own_cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

double seconds_of(int64_t ns) { return static_cast<double>(ns) / static_cast<double>(kSecond); }

}  // namespace

Watch::Watch(ProcFolder proc, pid_t pid, Command* started, GpuSource* gpus, WatchOptions options)
    : tree_(std::move(proc), pid,
            started ? ProcessTree::Root::kJustStarted : ProcessTree::Root::kRunning,
            options.look_share),
      pid_(pid),
      command_(started),
      gpus_(gpus),
      options_(std::move(options)),
      summary_(options_.band),
      phases_(std::max(kPhaseWindow, kPhaseSamples * seconds_of(options_.interval_ns))) {
  if (options_.band) band_.emplace(*options_.band);
}

void Watch::sample(double seconds, const std::function<void(const Observation&)>& each) {
  Sample sample{.number = taken_, .seconds = seconds, .host = tree_.sample(seconds)};
  root_alive_ = sample.host.alive;
  if (!root_alive_) return;  // what its children do then is not asked
  // A share of next to no time would be that of a clock's tick.
  const double passed = seconds - last_seconds_;
  if (passed >= seconds_of(std::min(options_.interval_ns, kFirstInterval)) / 2) {
    sample.cpu_share = (sample.host.cpu_seconds - last_cpu_) / passed;
    last_seconds_ = seconds;
    last_cpu_ = sample.host.cpu_seconds;
  }
  if (gpus_) attribute(gpus_->read(), options_.pids_are_ours, sample);
  ++taken_;
  summary_.take(sample);
  const bool phase_ended = phases_.take(sample);
  std::vector<BandWatch::Crossing> crossings;
  if (band_) crossings = band_->take(sample);
  const auto& phases = phases_.all();
  each({.sample = sample,
        .so_far = summary_.so_far(),
        .ended_phase = phase_ended ? &phases[phases.size() - 2] : nullptr,
        .crossings = std::move(crossings)});
}

// A command's own signals come through its terminal: it is given the time to end by them.
bool Watch::asked_to_stop(int signals) {
  signalfd_siginfo info{};
  if (::read(signals, &info, sizeof info) != sizeof info) return false;
  stop_signal_ = static_cast<int>(info.ssi_signo);
  const bool of_terminal = info.ssi_signo == SIGINT && info.ssi_code == SI_KERNEL;
  if (!command_ || !of_terminal || interrupted_) return true;
  interrupted_ = true;
  return false;
}

bool Watch::process_ended() {
  if (!command_) return !root_alive_;
  if (!ended_) ended_ = command_->ended();
  return ended_.has_value();
}

Watch::End Watch::run(int signals, const std::function<void(const Observation&)>& each) {
  const int64_t start = now_ns();
  const double cpu_before = own_cpu_seconds();
  const int process = open_process_descriptor(pid_);
  // A command is sampled from its first moment; of what runs already rates are told, which take
  // some time.
  const int64_t first = command_ ? 0 : std::min(options_.interval_ns, kFirstInterval);
  Ticker ticker(start + first, options_.interval_ns);
  End end = End::kProcessEnded;
  bool gone = false;
  while (true) {
    const int64_t now = now_ns();
    if (gone || now >= ticker.due()) {
      sample(seconds_of(now - start), each);
      ticker.taken(now_ns());
    }
    if (process_ended() || !root_alive_ || gone) break;
    const int64_t wait = std::max<int64_t>(0, ticker.due() - now_ns());
    const timespec limit{.tv_sec = wait / kSecond, .tv_nsec = wait % kSecond};
    std::array<pollfd, 2> ready = {{{.fd = signals, .events = POLLIN, .revents = 0},
                                    {.fd = process, .events = POLLIN, .revents = 0}}};
    if (::ppoll(ready.data(), ready.size(), &limit, nullptr) <= 0) continue;
    gone = ready[1].revents != 0;
    if (ready[0].revents != 0 && asked_to_stop(signals)) {
      end = End::kAskedToStop;
      break;
    }
  }
  if (process >= 0) ::close(process);
  // A child that is gone from /proc's figures is about to be waited for.
  for (int i = 0; end == End::kProcessEnded && command_ && !process_ended() && i < 1000; ++i) {
    constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 1'000'000};
    ::nanosleep(&kPause, nullptr);
  }
  missed_ = ticker.missed();
  wall_seconds_ = seconds_of(now_ns() - start);
  own_cpu_seconds_ = own_cpu_seconds() - cpu_before;
  return end;
}

Summary Watch::summary() const {
  SummaryBuilder whole = summary_;
  if (ended_) whole.take_peak(ended_->peak_rss);
  Summary s = whole.so_far();
  s.pid = pid_;
  s.missed = missed_;
  s.seconds = wall_seconds_;
  s.phases = phases_.all();
  s.band_left = band_ && band_->was_left();
  s.ended = ended_.has_value() || !root_alive_;
  if (ended_) s.exit_status = ended_->status;
  if (wall_seconds_ > 0) s.own_cpu_share = own_cpu_seconds_ / wall_seconds_;
  return s;
}

}  // namespace plimsoll::monitor
