// What the GPUs of this machine do, from whoever can tell: the driver (nvml.h) or a file in which
// it was recorded (monitor/gpu_recording.h). Between the two and all that is reported stands this.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll {

struct GpuProcess {
  int64_t pid = 0;                 // in the driver's pid namespace
  std::optional<int64_t> bytes{};  // nothing: the driver does not report it
};

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
