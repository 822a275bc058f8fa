// Processors of hosts by name, from hwdb/cpus.json: cores, highest clock, year, and how fast one
// thread is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "graph/base/diagnostic.h"

namespace plimsoll {

class Hwdb;

struct Cpu {
  std::string name;          // "Xeon E5-2640 v4"
  int64_t cores = 0;         // of one socket
  double single_thread = 0;  // Skylake at 3.7 GHz being 1, as Host::single_thread
  int64_t year = 0;
  bool assumed = false;  // its clock is on no page that the file could name
};

// As people and /proc/cpuinfo write it: "E5-2640 v4", "Intel(R) Xeon(R) CPU E5-2640 v4 @ 2.40GHz",
// "2 x EPYC 7742". E147 for one that is not there, with the nearest. Errors as the JSON reader,
// where a user's folder has a broken file. Cost: all of the file.
Result<Cpu> find_cpu(const Hwdb& hwdb, std::string_view name);

}  // namespace plimsoll
