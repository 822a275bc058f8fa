// This machine as a host: how fast one thread dispatches, and how fast its memory is. What
// `plimsoll hosts --measure FILE` writes, for --host FILE.
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll::cli {

struct MeasuredHost {
  std::string cpu;           // as /proc/cpuinfo has it; empty where nobody says
  int64_t cores = 0;         // threads that this process may run on
  int64_t memory_bytes = 0;  // of the machine
  // Of one thread, a Skylake at 3.7 GHz being 1: Host::single_thread.
  double single_thread = 0;
  double sum_bytes_per_second = 0;      // Host::gradient_sum, by all threads
  double message_bytes_per_second = 0;  // Host::messages, by one
};

// Takes some eight seconds of the machine, which should do nothing else meanwhile.
MeasuredHost measure_host();

// A file that read_host() reads.
std::string host_file(const MeasuredHost& host);

}  // namespace plimsoll::cli
