#include "calibrate/card/driver.h"

#include <fmt/format.h>

#include <array>

#include "graph/base/try.h"

namespace plimsoll::calibrate {
namespace {

constexpr const char* kDriverHelp =
    "install NVIDIA's driver (Debian: apt install nvidia-driver; Ubuntu: ubuntu-drivers install); "
    "without a GPU, --replay FILE replays a recorded GPU";

}  // namespace

Result<Driver::Functions> Driver::functions_of(const SharedLibrary& library) {
  Functions call{};
  Diagnostics missing;
  library.load(call.init, "cuInit", missing);
  library.load(call.device_count, "cuDeviceGetCount", missing);
  library.load(call.device, "cuDeviceGet", missing);
  library.load(call.device_name, "cuDeviceGetName", missing);
  library.load(call.device_uuid, "cuDeviceGetUuid", missing);
  library.load(call.device_attribute, "cuDeviceGetAttribute", missing);
  library.load(call.retain_context, "cuDevicePrimaryCtxRetain", missing);
  library.load(call.release_context, "cuDevicePrimaryCtxRelease_v2", missing);
  library.load(call.set_context, "cuCtxSetCurrent", missing);
  library.load(call.memory_info, "cuMemGetInfo_v2", missing);
  library.load(call.allocate, "cuMemAlloc_v2", missing);
  library.load(call.free, "cuMemFree_v2", missing);
  library.load(call.allocate_pinned, "cuMemAllocHost_v2", missing);
  library.load(call.free_pinned, "cuMemFreeHost", missing);
  library.load(call.copy_in, "cuMemcpyHtoDAsync_v2", missing);
  library.load(call.copy_out, "cuMemcpyDtoHAsync_v2", missing);
  library.load(call.copy_within, "cuMemcpyDtoDAsync_v2", missing);
  library.load(call.create_stream, "cuStreamCreate", missing);
  library.load(call.stream_synchronize, "cuStreamSynchronize", missing);
  library.load(call.create_event, "cuEventCreate", missing);
  library.load(call.destroy_event, "cuEventDestroy_v2", missing);
  library.load(call.record_event, "cuEventRecord", missing);
  library.load(call.wait_for_event, "cuEventSynchronize", missing);
  library.load(call.elapsed, "cuEventElapsedTime", missing);
  library.load(call.load_module, "cuModuleLoadData", missing);
  library.load(call.module_function, "cuModuleGetFunction", missing);
  library.load(call.launch, "cuLaunchKernel", missing);
  library.load(call.error_text, "cuGetErrorString", missing);
  if (!missing.empty()) return tl::make_unexpected(missing);
  return call;
}

Result<Driver> Driver::open(int index, int64_t memory) {
  const auto library = SharedLibrary::open({"libcuda.so.1"});
  if (!library) {
    return error("E701", "there is no NVIDIA driver: " + library.error().front().message, {},
                 kDriverHelp);
  }
  const auto call = TRY(functions_of(*library));
  Driver driver(call);
  driver.memory_ = memory;
  try {
    int count = 0;
    if (const CUresult started = call.init(0); started != CUDA_SUCCESS) {
      const char* why = nullptr;
      call.error_text(started, &why);
      return error("E720", fmt::format("no GPU: the driver reports '{}'", why ? why : "unknown"),
                   {}, kDriverHelp);
    }
    driver.check(call.device_count(&count), "count GPUs");
    if (index >= count) {
      return error("E720", fmt::format("there is no GPU {}: this machine has {}", index, count), {},
                   "--gpu-index counts from 0");
    }
    driver.check(call.device(&driver.device_, index), "find the GPU");
    driver.check(call.retain_context(&driver.context_, driver.device_), "make a context");
    driver.check(call.set_context(driver.context_), "use the context");
    driver.check(call.create_stream(&driver.stream_, CU_STREAM_NON_BLOCKING), "make a stream");
  } catch (const CardFault& fault) {
    return error("E720", fault.what());
  }
  return driver;
}

Driver::Driver(Driver&& other) noexcept
    : call_(other.call_),
      device_(other.device_),
      context_(std::exchange(other.context_, nullptr)),
      stream_(other.stream_),
      memory_(other.memory_),
      in_use_(other.in_use_) {}

Driver::~Driver() {
  if (context_) call_.release_context(device_);
}

void Driver::check(CUresult result, const char* what) const {
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  call_.error_text(result, &text);
  throw CardFault(result == CUDA_ERROR_OUT_OF_MEMORY ? "E721" : "E722",
                  fmt::format("{}: {}", what, text ? text : std::to_string(result).c_str()));
}

std::string Driver::name() const {
  std::array<char, 256> text{};
  check(call_.device_name(text.data(), static_cast<int>(text.size() - 1), device_), "name the GPU");
  return text.data();
}

std::string Driver::uuid() const {
  CUuuid id{};
  check(call_.device_uuid(&id, device_), "identify the GPU");
  std::string text = "GPU-";
  for (size_t i = 0; i < sizeof id.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(id.bytes[i]));
  }
  return text;
}

int Driver::attribute(CUdevice_attribute which) const {
  int value = 0;
  check(call_.device_attribute(&value, which, device_), "ask for a property");
  return value;
}

std::pair<int64_t, int64_t> Driver::free_and_total() const {
  size_t free = 0, total = 0;
  check(call_.memory_info(&free, &total), "ask for memory");
  return {static_cast<int64_t>(free), static_cast<int64_t>(total)};
}

DeviceMemory::DeviceMemory(const Driver& driver, int64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  if (driver.in_use_ + bytes > driver.memory_) {
    throw CardFault("E721",
                    fmt::format("{} bytes with {} in use exceed --mem", bytes, driver.in_use_));
  }
  driver.check(driver.call().allocate(&address_, static_cast<size_t>(bytes)), "allocate");
  driver_ = &driver;
  driver.in_use_ += bytes;
}

DeviceMemory::~DeviceMemory() {
  if (!driver_) return;
  driver_->call().free(address_);
  driver_->in_use_ -= bytes_;
}

double Event::seconds_since(const Event& begin) const {
  float milliseconds = 0;
  driver_.check(driver_.call().wait_for_event(event_), "run");
  driver_.check(driver_.call().elapsed(&milliseconds, begin.event_, event_), "take the time");
  return milliseconds * 1e-3;
}

}  // namespace plimsoll::calibrate
