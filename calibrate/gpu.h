// What the GPUs of this machine do, from whoever can tell: the driver (nvml.h) or a file in which
// it was recorded (monitor/gpu_recording.h). Between the two and all that is reported stands this.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/json/fields.h"

namespace plimsoll {

struct GpuProcess {
  int64_t pid = 0;                 // in the driver's pid namespace
  std::optional<int64_t> bytes{};  // nothing: the driver does not report it
};

inline void describe(Fields& f, GpuProcess& process) {
  f("pid", process.pid);
  f("bytes", process.bytes, {.null_where = false, .absent_where = false});
}

// One card. What a card or a driver does not tell is missing, never 0.
struct GpuReading {
  std::string name{}, uuid{};
  std::optional<int64_t> total_bytes{}, used_bytes{};  // of the whole card
  std::optional<std::vector<GpuProcess>> processes{};
  std::optional<double> utilisation{}, memory_utilisation{};  // shares of the driver's last period
  std::optional<int64_t> pcie_received_per_s{}, pcie_sent_per_s{};  // bytes, as the card sees them
  std::optional<double> power_watts{}, temperature_c{};
  std::optional<int64_t> sm_clock_hz{}, memory_clock_hz{};
  std::optional<std::vector<std::string>> throttled{};  // why clocks are lower than they could be
};

// As recordings have it, with `bytes`, what of it somebody is interested in takes.
inline void describe(Fields& f, GpuReading& gpu, std::optional<int64_t> bytes) {
  const FieldNote optional{.null_where = false, .absent_where = false};
  f("name", gpu.name, optional);
  f("uuid", gpu.uuid, optional);
  f("bytes", std::move(bytes), optional);
  f("total_bytes", gpu.total_bytes, optional);
  f("used_bytes", gpu.used_bytes, optional);
  f("utilisation", gpu.utilisation, optional);
  f("memory_utilisation", gpu.memory_utilisation, optional);
  f("pcie_received_per_s", gpu.pcie_received_per_s, optional);
  f("pcie_sent_per_s", gpu.pcie_sent_per_s, optional);
  f("power_watts", gpu.power_watts, optional);
  f("temperature_c", gpu.temperature_c, optional);
  f("sm_clock_hz", gpu.sm_clock_hz, optional);
  f("memory_clock_hz", gpu.memory_clock_hz, optional);
  f("processes", gpu.processes, optional);
}

struct GpuReadings {
  std::vector<GpuReading> gpus{};
  // What failed, in the driver's words, each once in a source's life.
  std::vector<std::string> faults{};
};

class GpuSource {
 public:
  virtual ~GpuSource() = default;
  // "NVIDIA driver 550.54.15".
  virtual std::string description() const = 0;
  virtual GpuReadings read() = 0;
};

}  // namespace plimsoll
