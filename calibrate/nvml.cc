#include "calibrate/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>

#include "calibrate/shared_library.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

// The parts of NVML's interface that are used, in our own words. Source: NVIDIA, "NVML API
// Reference Guide" vR550, and nvml.h of CUDA 12.4 for the numbers.
using Card = void*;
constexpr int kSuccess = 0, kNotSupported = 3, kInsufficientSize = 7;
constexpr unsigned kClockSm = 1, kClockMemory = 2;
constexpr unsigned kPcieSent = 0, kPcieReceived = 1;  // by the card
constexpr unsigned kTemperatureGpu = 0;
constexpr uint64_t kNotAvailable = ~uint64_t{0};
constexpr double kMilli = 1e-3;
constexpr int64_t kMega = 1'000'000, kKilo = 1000;

struct Memory {
  unsigned long long total, free, used;
};
struct Utilisation {
  unsigned gpu, memory;  // percent
};

// nvmlClocksThrottleReason...: why clocks are lower than they could be, but for a card at rest (1)
// and clocks that an application set (2).
constexpr std::pair<unsigned long long, const char*> kThrottleReasons[] = {
    {0x4, "power cap"},      {0x8, "hardware slowdown"}, {0x10, "sync boost"},
    {0x20, "thermal"},       {0x40, "hardware thermal"}, {0x80, "power brake"},
    {0x100, "display clock"}};

constexpr size_t kMostProcesses = 512, kLargestEntry = 32;
constexpr std::byte kUntouched{0xA5};
constexpr std::chrono::seconds kPcieEvery{1};

template <class Function>
class Entry {
 public:
  void find(const SharedLibrary& library, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (call_ != nullptr) return;
      name_ = name;
      if (const auto found = library.function<Function>(name)) call_ = *found;
    }
  }
  explicit operator bool() const { return call_ != nullptr; }
  const char* name() const { return name_; }
  template <class... Args>
  int operator()(Args... args) const {
    return call_ ? call_(args...) : kNotSupported;
  }

 private:
  Function* call_ = nullptr;
  const char* name_ = "";
};

struct Functions {
  Entry<int()> init, shutdown;
  Entry<int(unsigned*)> count;
  Entry<int(unsigned, Card*)> handle;
  Entry<int(Card, char*, unsigned)> name, uuid;
  Entry<int(char*, unsigned)> driver_version;
  Entry<int(Card, Memory*)> memory;
  Entry<int(Card, unsigned*, void*)> compute_processes, graphics_processes;
  Entry<int(Card, Utilisation*)> utilisation;
  Entry<int(Card, unsigned, unsigned*)> pcie, clock, temperature;
  Entry<int(Card, unsigned*)> power;
  Entry<int(Card, unsigned long long*)> throttle_reasons;
  const char* (*error_text)(int) = nullptr;

  explicit Functions(const SharedLibrary& library) {
    init.find(library, {"nvmlInit_v2", "nvmlInit"});
    shutdown.find(library, {"nvmlShutdown"});
    count.find(library, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
    handle.find(library, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
    name.find(library, {"nvmlDeviceGetName"});
    uuid.find(library, {"nvmlDeviceGetUUID"});
    driver_version.find(library, {"nvmlSystemGetDriverVersion"});
    memory.find(library, {"nvmlDeviceGetMemoryInfo"});
    compute_processes.find(library, {"nvmlDeviceGetComputeRunningProcesses_v3",
                                     "nvmlDeviceGetComputeRunningProcesses_v2",
                                     "nvmlDeviceGetComputeRunningProcesses"});
    graphics_processes.find(library, {"nvmlDeviceGetGraphicsRunningProcesses_v3",
                                      "nvmlDeviceGetGraphicsRunningProcesses_v2",
                                      "nvmlDeviceGetGraphicsRunningProcesses"});
    utilisation.find(library, {"nvmlDeviceGetUtilizationRates"});
    pcie.find(library, {"nvmlDeviceGetPcieThroughput"});
    clock.find(library, {"nvmlDeviceGetClockInfo"});
    temperature.find(library, {"nvmlDeviceGetTemperature"});
    power.find(library, {"nvmlDeviceGetPowerUsage"});
    throttle_reasons.find(library, {"nvmlDeviceGetCurrentClocksEventReasons",
                                    "nvmlDeviceGetCurrentClocksThrottleReasons"});
    if (const auto found = library.function<const char*(int)>("nvmlErrorString"))
      error_text = *found;
  }
  bool complete() const { return init && shutdown && count && handle && memory; }
  std::string why(int code) const {
    const char* text = error_text ? error_text(code) : nullptr;
    return text ? text : fmt::format("error {}", code);
  }
};

uint64_t word_at(const std::byte* at) {
  uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// An entry is {32-bit pid, 64-bit bytes} in the first form, {pid, bytes, two 32-bit ids of the part
// of the card} since, and {pid, bytes, ids, 64-bit protected bytes} in the drivers 535.43 to 535.86
// that called it the same: told apart by how far the buffer was written.
size_t entry_size(const std::vector<std::byte>& buffer, size_t count, bool first_form) {
  if (first_form) return 16;
  const auto from = buffer.begin() + static_cast<ptrdiff_t>(count * 24);
  const auto until = buffer.begin() + static_cast<ptrdiff_t>(count * kLargestEntry);
  return std::all_of(from, until, [](std::byte b) { return b == kUntouched; }) ? 24 : 32;
}

struct PcieRate {
  std::optional<int64_t> received, sent;
};

class Nvml : public GpuSource {
 public:
  // Takes over a library that was started.
  Nvml(Functions functions, bool pcie) : call_(functions) {
    find_cards();
    pcie_.resize(cards_.size());
    if (pcie && call_.pcie && !cards_.empty())
      pcie_thread_ = std::jthread([this](const std::stop_token& stop) { watch_pcie(stop); });
  }
  ~Nvml() override {
    pcie_thread_ = {};  // asked to stop, and awaited
    call_.shutdown();
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string description() const override { return "NVIDIA driver " + driver_; }
  GpuReadings read() override;

 private:
  struct KnownCard {
    Card handle = nullptr;
    std::string name, uuid;
  };

  void find_cards();
  void watch_pcie(const std::stop_token& stop);
  bool worked(int code, const char* call, size_t card);
  std::optional<int64_t> number(const Entry<int(Card, unsigned, unsigned*)>& call, size_t card,
                                unsigned which);
  std::optional<std::vector<GpuProcess>> processes(size_t card, std::optional<int64_t> total);
  bool add_processes(const Entry<int(Card, unsigned*, void*)>& call, size_t card,
                     std::optional<int64_t> total, std::vector<GpuProcess>& into);
  GpuReading read(size_t card);

  Functions call_;
  std::string driver_ = "of unknown version";
  std::vector<KnownCard> cards_;
  std::set<std::string, std::less<>> said_;
  std::vector<std::string> faults_;  // not yet handed over
  std::mutex pcie_lock_;
  std::vector<PcieRate> pcie_;
  std::jthread pcie_thread_;  // last: ends before what it uses
};

void Nvml::find_cards() {
  std::array<char, 96> text{};
  if (call_.driver_version(text.data(), static_cast<unsigned>(text.size())) == kSuccess)
    driver_ = text.data();
  unsigned count = 0;
  if (!worked(call_.count(&count), call_.count.name(), 0)) return;
  for (unsigned i = 0; i < count; ++i) {
    KnownCard card;
    if (!worked(call_.handle(i, &card.handle), call_.handle.name(), i)) continue;
    text.fill('\0');
    if (call_.name(card.handle, text.data(), static_cast<unsigned>(text.size() - 1)) == kSuccess)
      card.name = text.data();
    text.fill('\0');
    if (call_.uuid(card.handle, text.data(), static_cast<unsigned>(text.size() - 1)) == kSuccess)
      card.uuid = text.data();
    cards_.push_back(std::move(card));
  }
}

void Nvml::watch_pcie(const std::stop_token& stop) {
  std::mutex lock;
  std::condition_variable_any sleep;
  while (!stop.stop_requested()) {
    for (size_t i = 0; i < cards_.size() && !stop.stop_requested(); ++i) {
      PcieRate rate;
      unsigned kilobytes = 0;
      if (call_.pcie(cards_[i].handle, kPcieReceived, &kilobytes) == kSuccess)
        rate.received = kKilo * kilobytes;
      if (call_.pcie(cards_[i].handle, kPcieSent, &kilobytes) == kSuccess)
        rate.sent = kKilo * kilobytes;
      const std::scoped_lock held(pcie_lock_);
      pcie_[i] = rate;
    }
    std::unique_lock held(lock);
    sleep.wait_for(held, stop, kPcieEvery, [] { return false; });
  }
}

bool Nvml::worked(int code, const char* call, size_t card) {
  if (code == kSuccess) return true;
  std::string fault = fmt::format("GPU {}: {}: {}", card, call, call_.why(code));
  if (said_.insert(fault).second) faults_.push_back(std::move(fault));
  return false;
}

std::optional<int64_t> Nvml::number(const Entry<int(Card, unsigned, unsigned*)>& call, size_t card,
                                    unsigned which) {
  unsigned value = 0;
  if (!call || !worked(call(cards_[card].handle, which, &value), call.name(), card))
    return std::nullopt;
  return value;
}

bool Nvml::add_processes(const Entry<int(Card, unsigned*, void*)>& call, size_t card,
                         std::optional<int64_t> total, std::vector<GpuProcess>& into) {
  if (!call) return false;
  const std::string_view name = call.name();
  const bool first_form = !name.ends_with("_v2") && !name.ends_with("_v3");
  std::vector<std::byte> buffer(kMostProcesses * kLargestEntry, kUntouched);
  auto count = static_cast<unsigned>(kMostProcesses);
  const int code = call(cards_[card].handle, &count, static_cast<void*>(buffer.data()));
  if (code != kInsufficientSize && !worked(code, call.name(), card)) return false;
  const size_t entries = std::min<size_t>(count, kMostProcesses);
  const size_t size = entry_size(buffer, entries, first_form);
  for (size_t i = 0; i < entries; ++i) {
    const std::byte* at = buffer.data() + i * size;
    uint32_t pid = 0;
    std::memcpy(&pid, at, sizeof pid);
    const uint64_t bytes = word_at(at + 8);
    GpuProcess process{.pid = pid, .bytes = {}};
    if (bytes != kNotAvailable && (!total || bytes <= static_cast<uint64_t>(*total)))
      process.bytes = static_cast<int64_t>(bytes);
    const bool listed =
        std::ranges::any_of(into, [&](const GpuProcess& p) { return p.pid == process.pid; });
    if (!listed) into.push_back(process);  // one that computes and draws is in both lists
  }
  return true;
}

std::optional<std::vector<GpuProcess>> Nvml::processes(size_t card, std::optional<int64_t> total) {
  std::vector<GpuProcess> all;
  const bool computing = add_processes(call_.compute_processes, card, total, all);
  const bool drawing = add_processes(call_.graphics_processes, card, total, all);
  if (!computing && !drawing) return std::nullopt;
  return all;
}

GpuReading Nvml::read(size_t card) {
  const Card handle = cards_[card].handle;
  GpuReading reading{.name = cards_[card].name, .uuid = cards_[card].uuid};
  Memory memory{};
  if (worked(call_.memory(handle, &memory), call_.memory.name(), card)) {
    reading.total_bytes = static_cast<int64_t>(memory.total);
    reading.used_bytes = static_cast<int64_t>(memory.used);
  }
  reading.processes = processes(card, reading.total_bytes);
  Utilisation busy{};
  if (call_.utilisation &&
      worked(call_.utilisation(handle, &busy), call_.utilisation.name(), card)) {
    reading.utilisation = busy.gpu / 100.0;
    reading.memory_utilisation = busy.memory / 100.0;
  }
  unsigned milliwatts = 0;
  if (call_.power && worked(call_.power(handle, &milliwatts), call_.power.name(), card))
    reading.power_watts = kMilli * milliwatts;
  if (const auto degrees = number(call_.temperature, card, kTemperatureGpu))
    reading.temperature_c = static_cast<double>(*degrees);
  if (const auto mhz = number(call_.clock, card, kClockSm)) reading.sm_clock_hz = kMega * *mhz;
  if (const auto mhz = number(call_.clock, card, kClockMemory))
    reading.memory_clock_hz = kMega * *mhz;
  unsigned long long reasons = 0;
  if (call_.throttle_reasons &&
      worked(call_.throttle_reasons(handle, &reasons), call_.throttle_reasons.name(), card)) {
    reading.throttled.emplace();
    for (const auto& [bit, reason] : kThrottleReasons) {
      if (reasons & bit) reading.throttled->push_back(reason);
    }
  }
  const std::scoped_lock held(pcie_lock_);
  reading.pcie_received_per_s = pcie_[card].received;
  reading.pcie_sent_per_s = pcie_[card].sent;
  return reading;
}

GpuReadings Nvml::read() {
  GpuReadings all;
  for (size_t i = 0; i < cards_.size(); ++i) all.gpus.push_back(read(i));
  all.faults = std::exchange(faults_, {});
  return all;
}

}  // namespace

Result<std::unique_ptr<GpuSource>> open_nvml(const std::string& library, bool pcie) {
  const auto opened = TRY(SharedLibrary::open({library}));
  const Functions functions(opened);
  if (!functions.complete())
    return error("E702", fmt::format("{} is no NVIDIA management library", library));
  if (const int code = functions.init(); code != kSuccess) {
    return error("E711", fmt::format("the NVIDIA driver does not start: {}", functions.why(code)),
                 {}, "restart the machine after an update of the driver");
  }
  return std::make_unique<Nvml>(functions, pcie);
}

}  // namespace plimsoll
