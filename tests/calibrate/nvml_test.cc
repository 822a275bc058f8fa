// With a library of ours in the place of NVIDIA's (tests/monitor/programs/fake_nvml.cc).
#include "calibrate/nvml.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <chrono>
#include <thread>

using namespace plimsoll;

namespace {

constexpr int64_t kGibibyte = int64_t{1} << 30;

// The environment that the library reads, for as long as a test lasts.
class Faked {
 public:
  explicit Faked(const char* fault) {
    ::setenv("FAKE_NVML", fault, 1);
    ::setenv("FAKE_NVML_PID", "40", 1);
  }
  ~Faked() {
    ::unsetenv("FAKE_NVML");
    ::unsetenv("FAKE_NVML_PID");
  }
};

}  // namespace

TEST_CASE("every figure of the driver's library has its unit") {
  const Faked faked("");
  auto nvml = open_nvml(PLIMSOLL_FAKE_NVML);
  REQUIRE(nvml);
  CHECK((*nvml)->description() == "NVIDIA driver 550.54.15");
  GpuReadings all = (*nvml)->read();
  // PCIe is asked by a thread.
  for (int i = 0; i < 500 && !all.gpus[0].pcie_sent_per_s; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    all = (*nvml)->read();
  }
  REQUIRE(all.gpus.size() == 2);
  const GpuReading& gpu = all.gpus[0];
  CHECK(gpu.name == "Fake T4");
  CHECK(gpu.uuid == "GPU-first");
  CHECK(gpu.total_bytes == 16 * kGibibyte);
  CHECK(gpu.used_bytes == 3 * kGibibyte);
  CHECK(gpu.utilisation == 0.75);
  CHECK(gpu.memory_utilisation == 0.4);
  CHECK(gpu.power_watts == doctest::Approx(69.5));
  CHECK(gpu.temperature_c == 61);
  CHECK(gpu.sm_clock_hz == 1'590'000'000);
  CHECK(gpu.memory_clock_hz == 5'000'000'000);
  CHECK(gpu.throttled == std::vector<std::string>{"power cap", "thermal"});
  CHECK(gpu.pcie_sent_per_s == 1'500'000);
  CHECK(gpu.pcie_received_per_s == 250'000'000);
  REQUIRE(gpu.processes);
  REQUIRE(gpu.processes->size() == 2);
  CHECK((*gpu.processes)[1].pid == 40);
  CHECK((*gpu.processes)[1].bytes == kGibibyte);
  CHECK(all.gpus[1].processes->empty());
  CHECK(all.faults.empty());
}

TEST_CASE("entries of the drivers 535.43 to 535.86 are longer, and are read as such") {
  const Faked faked("stride");
  auto nvml = open_nvml(PLIMSOLL_FAKE_NVML);
  REQUIRE(nvml);
  const GpuReadings all = (*nvml)->read();
  REQUIRE(all.gpus[0].processes);
  CHECK((*all.gpus[0].processes)[1].pid == 40);
  CHECK((*all.gpus[0].processes)[1].bytes == kGibibyte);
}

TEST_CASE("memory that the driver does not tell of a process is missing") {
  const Faked faked("hidden");
  auto nvml = open_nvml(PLIMSOLL_FAKE_NVML);
  REQUIRE(nvml);
  const GpuReadings all = (*nvml)->read();
  CHECK(!(*all.gpus[0].processes)[1].bytes);
}

TEST_CASE("a call that fails is told once, and its figure is missing") {
  const Faked faked("power");
  auto nvml = open_nvml(PLIMSOLL_FAKE_NVML);
  REQUIRE(nvml);
  const GpuReadings first = (*nvml)->read();
  CHECK(!first.gpus[0].power_watts);
  CHECK(first.gpus[1].power_watts);
  REQUIRE(first.faults.size() == 1);
  CHECK(first.faults[0] == "GPU 0: nvmlDeviceGetPowerUsage: Not Supported");
  CHECK((*nvml)->read().faults.empty());
}

TEST_CASE("no library, another library, and one that does not start are told apart") {
  const auto code = [](const char* library) {
    auto nvml = open_nvml(library);
    return nvml ? std::string() : nvml.error().front().code;
  };
  CHECK(code("libplimsoll-has-no-such-library.so.1") == "E701");
  CHECK(code("libm.so.6") == "E702");
  const Faked faked("start");
  CHECK(code(PLIMSOLL_FAKE_NVML) == "E711");
  CHECK(open_nvml(PLIMSOLL_FAKE_NVML).error().front().message.find("version mismatch") !=
        std::string::npos);
}
