// Which part of a card's memory is the watched processes'.
#pragma once

#include "monitor/sample.h"

namespace plimsoll::monitor {

// Whether pids as the driver counts them are pids of this process: it lives in the kernel's first
// pid namespace. In a container of another, NVML gives the host's pids (nvidia-docker issue 1483),
// and one that is equal to one of ours is so by chance.
bool in_first_pid_namespace(const std::string& link = "/proc/self/ns/pid");

// Sets the sample's devices, basis and faults. The basis is the card where pids are not ours, where
// the driver does not list processes, or not the memory of one of ours.
void attribute(GpuReadings readings, bool pids_are_ours, Sample& sample);

}  // namespace plimsoll::monitor
