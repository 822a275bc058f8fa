// The watch: samples of a process tree and of the GPUs at a fixed interval, until the process ends
// or somebody asks to stop. What is watched is only read.
#pragma once

#include <atomic>
#include <functional>

#include "monitor/command.h"
#include "monitor/summary.h"

namespace plimsoll::monitor {

struct WatchOptions {
  int64_t interval_ns = 100'000'000;
  bool pids_are_ours = true;
  double look_share = ProcessTree::kLookShare;
  std::optional<Band> band{};
};

// One sample and what it brought about.
struct Observation {
  const Sample& sample;
  const Summary& so_far;
  const Phase* ended_phase = nullptr;
  std::vector<BandWatch::Crossing> crossings{};
};

class Watch {
 public:
  // `gpus` may be null. `started`: the command that `pid` is, where it is a child of ours.
  Watch(ProcFolder proc, pid_t pid, Command* started, GpuSource* gpus, WatchOptions options);

  // How a watch ends.
  enum class End : uint8_t { kProcessEnded, kAskedToStop };
  // Until the process ends, or a signal comes to `signals`, a signalfd(2), that means us: of
  // SIGINT, one from the terminal, which a command of ours has been sent too, is waited out once.
  // `each` is called after every sample. Cost: one sample, some 50 us for each process.
  End run(int signals, const std::function<void(const Observation&)>& each);

  // Of kAskedToStop.
  int stop_signal() const { return stop_signal_; }

  // With what is known at the end.
  Summary summary() const;

 private:
  void sample(double seconds, const std::function<void(const Observation&)>& each);
  bool asked_to_stop(int signals);
  bool process_ended();

  ProcessTree tree_;
  pid_t pid_;
  Command* command_;
  GpuSource* gpus_;
  WatchOptions options_;
  SummaryBuilder summary_;
  Phases phases_;
  std::optional<BandWatch> band_;
  int64_t taken_ = 0, missed_ = 0;
  double last_seconds_ = 0, last_cpu_ = 0, wall_seconds_ = 0, own_cpu_seconds_ = 0;
  bool root_alive_ = true, interrupted_ = false;
  int stop_signal_ = 0;
  std::optional<Ended> ended_;
};

}  // namespace plimsoll::monitor
