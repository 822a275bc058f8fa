// One sample of everything, and its forms: a JSON line, a row of CSV.
#pragma once

#include "calibrate/gpu.h"
#include "graph/base/diagnostic.h"
#include "graph/json/fields.h"
#include "monitor/process_tree.h"

namespace plimsoll::monitor {

// What a process has of one card. Where the driver's pids are not those of this machine's /proc (in
// a container) it is the whole card's, and so it is called.
enum class DeviceBasis : uint8_t { kNone, kProcess, kCard };
std::string_view name(DeviceBasis basis);
constexpr std::array<DeviceBasis, 3> values_of(DeviceBasis) {
  return {DeviceBasis::kNone, DeviceBasis::kProcess, DeviceBasis::kCard};
}

struct DeviceReading {
  GpuReading gpu{};
  std::optional<int64_t> bytes{};  // of the tree, or of the whole card
};

struct Sample {
  int64_t number = 0;  // from 0
  double seconds = 0;  // since the watch began
  HostReading host{};
  double cpu_share = 0;  // of one core, since the last sample
  DeviceBasis basis = DeviceBasis::kNone;
  std::vector<DeviceReading> devices{};
  std::vector<std::string> faults{};  // of the driver, new ones

  // Of the card that has most; nothing where none tells.
  std::optional<int64_t> device_bytes() const;
};

// {"sample": 12, "seconds": 1.2, "host": {...}, "gpus": [...]}
void describe(Fields& f, Sample& sample);

// The columns for so many cards, and a row; a figure that is not there is an empty cell. Cards that
// appear later have no column.
std::string csv_header(size_t gpus);
std::string csv_row(const Sample& sample, size_t gpus);

}  // namespace plimsoll::monitor
