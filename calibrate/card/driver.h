// driver: CUDA's driver interface, loaded at run time, and what of it a card needs: memory, a
// stream, events, kernels. What fails is thrown as CardFault and becomes a diagnostic where the
// card's own functions end.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "calibrate/shared_library.h"

namespace plimsoll::calibrate {

struct CardFault : std::runtime_error {
  CardFault(std::string of, const std::string& message)
      : std::runtime_error(message), code(std::move(of)) {}
  std::string code;  // of card.h
};

// The context, a stream and the functions of the driver.
class Driver {
 public:
  // E701 where there is no driver, E702 where it lacks a function, E720 where it has no such GPU.
  // `memory`: bytes that may be in use at once.
  static Result<Driver> open(int index, int64_t memory);
  Driver(Driver&& other) noexcept;
  Driver& operator=(Driver&&) = delete;
  ~Driver();

  CUstream stream() const { return stream_; }
  std::string name() const;
  std::string uuid() const;  // "GPU-01234567-..." as NVML has it
  int attribute(CUdevice_attribute which) const;
  std::pair<int64_t, int64_t> free_and_total() const;

  // Throws CardFault: E721 for want of memory, else E722 in the driver's words.
  void check(CUresult result, const char* what) const;
  void synchronize() const { check(call_.stream_synchronize(stream_), "run"); }

  struct Functions {
    decltype(::cuInit)* init;
    decltype(::cuDeviceGetCount)* device_count;
    decltype(::cuDeviceGet)* device;
    decltype(::cuDeviceGetName)* device_name;
    decltype(::cuDeviceGetUuid)* device_uuid;
    decltype(::cuDeviceGetAttribute)* device_attribute;
    decltype(::cuDevicePrimaryCtxRetain)* retain_context;
    decltype(::cuDevicePrimaryCtxRelease)* release_context;
    decltype(::cuCtxSetCurrent)* set_context;
    decltype(::cuMemGetInfo)* memory_info;
    decltype(::cuMemAlloc)* allocate;
    decltype(::cuMemFree)* free;
    decltype(::cuMemAllocHost)* allocate_pinned;
    decltype(::cuMemFreeHost)* free_pinned;
    decltype(::cuMemcpyHtoDAsync)* copy_in;
    decltype(::cuMemcpyDtoHAsync)* copy_out;
    decltype(::cuMemcpyDtoDAsync)* copy_within;
    decltype(::cuStreamCreate)* create_stream;
    decltype(::cuStreamSynchronize)* stream_synchronize;
    decltype(::cuEventCreate)* create_event;
    decltype(::cuEventDestroy)* destroy_event;
    decltype(::cuEventRecord)* record_event;
    decltype(::cuEventSynchronize)* wait_for_event;
    decltype(::cuEventElapsedTime)* elapsed;
    decltype(::cuModuleLoadData)* load_module;
    decltype(::cuModuleGetFunction)* module_function;
    decltype(::cuLaunchKernel)* launch;
    decltype(::cuGetErrorString)* error_text;
  };
  const Functions& call() const { return call_; }

 private:
  friend class DeviceMemory;
  explicit Driver(const Functions& call) : call_(call) {}
  static Result<Functions> functions_of(const SharedLibrary& library);

  Functions call_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  int64_t memory_ = 0;  // that may be in use
  mutable int64_t in_use_ = 0;
};

class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const Driver& driver, int64_t bytes);  // throws CardFault
  DeviceMemory(DeviceMemory&& other) noexcept
      : driver_(std::exchange(other.driver_, nullptr)),
        address_(other.address_),
        bytes_(other.bytes_) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceMemory();

  CUdeviceptr address() const { return address_; }
  void* pointer() const { return reinterpret_cast<void*>(address_); }
  int64_t bytes() const { return bytes_; }

 private:
  const Driver* driver_ = nullptr;
  CUdeviceptr address_ = 0;
  int64_t bytes_ = 0;
};

class Event {
 public:
  explicit Event(const Driver& driver) : driver_(driver) {
    driver.check(driver.call().create_event(&event_, CU_EVENT_DEFAULT), "make an event");
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { driver_.call().destroy_event(event_); }
  void record() const {
    driver_.check(driver_.call().record_event(event_, driver_.stream()), "record an event");
  }
  // From `begin`, which was recorded before it; waits until it is there.
  double seconds_since(const Event& begin) const;

 private:
  const Driver& driver_;
  CUevent event_ = nullptr;
};

}  // namespace plimsoll::calibrate
