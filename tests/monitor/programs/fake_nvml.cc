// A library with the entry points of NVIDIA's management library that the monitor uses, for tests
// on machines without a card. Two cards; what fails and how is told by FAKE_NVML:
//   "start"     it does not start      "power"      the first card tells no power
//   "stride"    entries of 32 bytes    "hidden"     memory of processes is not told
// The process on the first card is FAKE_NVML_PID, with 1 GiB.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

bool told(std::string_view fault) {
  const char* value = std::getenv("FAKE_NVML");
  return value != nullptr && fault == value;
}

constexpr int kNotSupported = 3, kMismatch = 18;
constexpr uint64_t kGibibyte = uint64_t{1} << 30;
char first_card, second_card;

bool is_first(const void* card) { return card == &first_card; }

}  // namespace

extern "C" {

int nvmlInit_v2() { return told("start") ? kMismatch : 0; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int code) {
  return code == kMismatch ? "Driver/library version mismatch" : "Not Supported";
}
int nvmlSystemGetDriverVersion(char* text, unsigned) {
  std::strcpy(text, "550.54.15");
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** card) {
  *card = index == 0 ? &first_card : &second_card;
  return 0;
}
int nvmlDeviceGetName(void*, char* text, unsigned) {
  std::strcpy(text, "Fake T4");
  return 0;
}
int nvmlDeviceGetUUID(void* card, char* text, unsigned) {
  std::strcpy(text, is_first(card) ? "GPU-first" : "GPU-second");
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* card, unsigned long long* total_free_used) {
  total_free_used[0] = 16 * kGibibyte;
  total_free_used[1] = 16 * kGibibyte - (is_first(card) ? 3 : 2) * kGibibyte;
  total_free_used[2] = (is_first(card) ? 3 : 2) * kGibibyte;
  return 0;
}
// Two processes on the first card, ours last.
int nvmlDeviceGetComputeRunningProcesses_v3(void* card, unsigned* count, void* buffer) {
  *count = is_first(card) ? 2 : 0;
  const char* pid = std::getenv("FAKE_NVML_PID");
  const uint32_t ours = pid ? static_cast<uint32_t>(std::atoi(pid)) : 0;
  const size_t stride = told("stride") ? 32 : 24;
  for (unsigned i = 0; i < *count; ++i) {
    char* entry = static_cast<char*>(buffer) + i * stride;
    std::memset(entry, 0, stride);
    const uint32_t process = i == 0 ? 4'000'000 : ours;
    const uint64_t bytes = told("hidden") ? ~uint64_t{0} : (i == 0 ? 2 : 1) * kGibibyte;
    std::memcpy(entry, &process, sizeof process);
    std::memcpy(entry + 8, &bytes, sizeof bytes);
  }
  return 0;
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* percents) {
  percents[0] = 75;
  percents[1] = 40;
  return 0;
}
int nvmlDeviceGetPcieThroughput(void*, unsigned counter, unsigned* kilobytes) {
  *kilobytes = counter == 0 ? 1500 : 250'000;
  return 0;
}
int nvmlDeviceGetClockInfo(void*, unsigned clock, unsigned* mhz) {
  *mhz = clock == 1 ? 1590 : 5000;
  return 0;
}
int nvmlDeviceGetTemperature(void*, unsigned, unsigned* degrees) {
  *degrees = 61;
  return 0;
}
int nvmlDeviceGetPowerUsage(void* card, unsigned* milliwatts) {
  if (told("power") && is_first(card)) return kNotSupported;
  *milliwatts = 69'500;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = 0x4 | 0x20 | 0x2;  // the last: an application's clocks, which are no complaint
  return 0;
}
}
