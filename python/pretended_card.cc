// A card that is not there, for PyTorch in this process: what its dispatcher and its autograd
// engine ask of CUDA before anything is launched (which device, which stream, what can it do) is
// answered here. Under FakeTensorMode no kernel runs and no device memory is touched, so nothing
// else of CUDA is reached.
//
// The functions of libc10_cuda and libtorch_cuda that ask are named in the libraries' own tables of
// what they import (ELF's global offset tables); those entries are turned to the functions below.
// A build without CUDA asks less; what its operators would ask is in _record_without_cuda.py.
// Nothing of PyTorch or CUDA is needed to build this: the types that pass are two numbers, and the
// few members of cudaDeviceProp that are read have lain where they lie since CUDA 11.
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <span>

namespace {

// c10::Stream, which is all of c10::cuda::CUDAStream (c10/core/Stream.h): a device and a number.
struct Stream {
  int8_t device_type, device_index;
  int64_t id;
};
constexpr int8_t kCuda = 1;  // c10/core/DeviceType.h
thread_local int64_t current_stream = 0;
int64_t streams_made = 0;

// As many as PyTorch's own guard has for fake tensors (kFakeGuardImplMaxDevices in
// c10/core/impl/FakeGuardImpl.h), which is in place where fake tensors were used before: autograd
// has a thread for each. The program is told of one (_record_card.py).
constexpr int8_t kDevices = 8;
int8_t devices() { return kDevices; }
int8_t first_device() { return 0; }
int8_t exchange_device(int8_t) { return 0; }
int count_devices(int* count) { return *count = kDevices, 0; }
int get_device(int8_t* device) { return *device = 0, 0; }
int succeed() { return 0; }
bool no_context(int8_t) { return false; }
void nothing() {}
Stream stream_now(int8_t) { return {kCuda, 0, current_stream}; }
Stream default_stream(int8_t) { return {kCuda, 0, 0}; }
Stream new_stream() { return {kCuda, 0, ++streams_made}; }
void set_stream(Stream stream) { current_stream = stream.id; }

// cudaDeviceProp (cuda_runtime_api.h): sizes and places of what PyTorch reads, of CUDA 11 to 13.
alignas(8) unsigned char properties[4096];
constexpr size_t kTotalMemory = 288, kSharedMemory = 296, kRegisters = 304, kWarp = 308,
                 kThreads = 320, kGrid = 336, kMajor = 360, kMinor = 364;
constexpr size_t kProcessors12 = 388, kProcessors13 = 384;

template <class T>
void put(size_t at, T value) {
  std::memcpy(properties + at, &value, sizeof value);
}

const void* device_properties() { return properties; }
int warp_size() { return 32; }

struct Answer {
  const char* name;  // as the compiler writes it
  void* function;
};
#define AS_POINTER(function) reinterpret_cast<void*>(&function)
const Answer kAnswers[] = {
    {"_ZN3c104cuda12device_countEv", AS_POINTER(devices)},
    {"_ZN3c104cuda28device_count_ensure_non_zeroEv", AS_POINTER(devices)},
    {"_ZN3c104cuda14current_deviceEv", AS_POINTER(first_device)},
    {"_ZN3c104cuda10set_deviceEa", AS_POINTER(nothing)},
    {"_ZN3c104cuda10set_deviceEab", AS_POINTER(nothing)},
    {"_ZN3c104cuda14GetDeviceCountEPi", AS_POINTER(count_devices)},
    {"_ZN3c104cuda9GetDeviceEPa", AS_POINTER(get_device)},
    {"_ZN3c104cuda9SetDeviceEa", AS_POINTER(succeed)},
    {"_ZN3c104cuda9SetDeviceEab", AS_POINTER(succeed)},
    {"_ZN3c104cuda14MaybeSetDeviceEa", AS_POINTER(succeed)},
    {"_ZN3c104cuda14ExchangeDeviceEa", AS_POINTER(exchange_device)},
    {"_ZN3c104cuda19MaybeExchangeDeviceEa", AS_POINTER(exchange_device)},
    {"_ZN3c104cuda15SetTargetDeviceEv", AS_POINTER(nothing)},
    {"_ZN3c104cuda17hasPrimaryContextEa", AS_POINTER(no_context)},
    {"_ZN3c104cuda18device_synchronizeEv", AS_POINTER(nothing)},
    {"_ZN3c104cuda20getCurrentCUDAStreamEa", AS_POINTER(stream_now)},
    {"_ZN3c104cuda20getDefaultCUDAStreamEa", AS_POINTER(default_stream)},
    {"_ZN3c104cuda17getStreamFromPoolEba", AS_POINTER(new_stream)},
    {"_ZN3c104cuda17getStreamFromPoolEia", AS_POINTER(new_stream)},
    {"_ZN3c104cuda20setCurrentCUDAStreamENS0_10CUDAStreamE", AS_POINTER(set_stream)},
    {"_ZN2at4cuda26getCurrentDevicePropertiesEv", AS_POINTER(device_properties)},
    {"_ZN2at4cuda19getDevicePropertiesEa", AS_POINTER(device_properties)},
    {"_ZN2at4cuda9warp_sizeEv", AS_POINTER(warp_size)},
};

// What a PyTorch without CUDA asks: which accelerator there is (std::optional<c10::DeviceType>),
// and its hooks for CUDA (at::CUDAHooksInterface), which all say no here instead of failing.
struct Accelerator {
  int8_t device_type;
  bool there;
};
Accelerator accelerator(bool) { return {kCuda, true}; }

// An object of whatever class: each of its functions answers 0.
constexpr size_t kFunctions = 128;  // more than the classes have that it stands for
int64_t zero() { return 0; }
struct Nobody {
  const void* functions[kFunctions];
  const void* const* table = functions;
  Nobody() {
    for (const void*& function : functions) function = AS_POINTER(zero);
  }
};
const void* nobody() {
  static const Nobody one;
  return &one.table;
}

const Answer kWithoutCuda[] = {
    {"_ZN2at14getAcceleratorEb", AS_POINTER(accelerator)},               // up to PyTorch 2.8
    {"_ZN2at11accelerator14getAcceleratorEb", AS_POINTER(accelerator)},  // since
    {"_ZN2at6detail12getCUDAHooksEv", AS_POINTER(nobody)},
};

std::span<const Answer> answers = kAnswers;

const void* answer_for(const char* name) {
  for (const Answer& answer : answers) {
    if (std::strcmp(answer.name, name) == 0) return answer.function;
  }
  return nullptr;
}

bool write_entry(ElfW(Addr) place, const void* function) {
  const auto page = static_cast<ElfW(Addr)>(sysconf(_SC_PAGESIZE));
  void* const start = reinterpret_cast<void*>(place & ~(page - 1));
  if (mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return false;
  std::memcpy(reinterpret_cast<void*>(place), &function, sizeof function);
  return true;
}

// A library's tables, as its dynamic section says where they are.
struct Tables {
  const char* strings = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const ElfW(Rela) * calls = nullptr;
  const ElfW(Rela) * others = nullptr;
  size_t calls_bytes = 0, others_bytes = 0;
};

Tables tables_of(const ElfW(Dyn) * entry) {
  Tables t;
  for (; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_STRTAB:
        t.strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
        break;
      case DT_SYMTAB:
        t.symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
        break;
      case DT_JMPREL:
        t.calls = reinterpret_cast<const ElfW(Rela)*>(entry->d_un.d_ptr);
        break;
      case DT_PLTRELSZ:
        t.calls_bytes = entry->d_un.d_val;
        break;
      case DT_RELA:
        t.others = reinterpret_cast<const ElfW(Rela)*>(entry->d_un.d_ptr);
        break;
      case DT_RELASZ:
        t.others_bytes = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  return t;
}

int turn_entries(const Tables& t, ElfW(Addr) base, const ElfW(Rela) * list, size_t bytes) {
  int turned = 0;
  for (size_t i = 0; list != nullptr && i < bytes / sizeof *list; ++i) {
    const auto symbol = ELF64_R_SYM(list[i].r_info);
    if (symbol == 0) continue;
    const void* const function = answer_for(t.strings + t.symbols[symbol].st_name);
    if (function != nullptr && write_entry(base + list[i].r_offset, function)) ++turned;
  }
  return turned;
}

int turn_library(dl_phdr_info* info, size_t, void* turned) {
  const char* const name = info->dlpi_name;
  if (std::strstr(name, "torch") == nullptr && std::strstr(name, "c10") == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto place = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    const Tables t = tables_of(reinterpret_cast<const ElfW(Dyn)*>(place));
    if (t.strings == nullptr || t.symbols == nullptr) continue;
    *static_cast<int*>(turned) += turn_entries(t, info->dlpi_addr, t.calls, t.calls_bytes) +
                                  turn_entries(t, info->dlpi_addr, t.others, t.others_bytes);
  }
  return 0;
}

}  // namespace

// The driver, which PyTorch's loader of compiled kernels is linked to and which is not here either:
// this file is found in its place, for it bears its name (libcuda.so.1). No context is active; all
// else fails.
#define FAILS(name) \
  extern "C" int name() { return 999; }  // CUDA_ERROR_UNKNOWN
FAILS(cuCtxGetCurrent)
FAILS(cuCtxSetCurrent)
FAILS(cuDeviceGet)
FAILS(cuDeviceGetAttribute)
FAILS(cuDevicePrimaryCtxRetain)
FAILS(cuFuncGetAttribute)
FAILS(cuFuncSetAttribute)
FAILS(cuFuncSetCacheConfig)
FAILS(cuGetErrorString)
FAILS(cuLaunchCooperativeKernel)
FAILS(cuLaunchKernel)
FAILS(cuLaunchKernelEx)
FAILS(cuLinkAddData)
FAILS(cuLinkAddData_v2)
FAILS(cuLinkComplete)
FAILS(cuLinkCreate)
FAILS(cuLinkCreate_v2)
FAILS(cuLinkDestroy)
FAILS(cuMemGetAddressRange_v2)
FAILS(cuModuleGetFunction)
FAILS(cuModuleGetGlobal_v2)
FAILS(cuModuleLoad)
FAILS(cuModuleLoadData)
FAILS(cuModuleLoadDataEx)
FAILS(cuModuleUnload)
FAILS(cuOccupancyMaxActiveBlocksPerMultiprocessor)
FAILS(cuPointerGetAttribute)
FAILS(cuTensorMapEncodeTiled)
extern "C" int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  return *flags = 0, *active = 0, 0;
}

// From here on PyTorch sees one card of compute capability `capability` (80: 8.0), of so many
// multiprocessors and bytes. `cuda`: the runtime's major version that PyTorch was built with, 0
// where it was built without. Returns how many calls were turned; 0 where this PyTorch asks in
// another way. Not to be taken back: for a process of its own. Call it before autograd's first
// backward pass.
extern "C" int plimsoll_pretend_card(int capability, int processors, int64_t bytes, int cuda) {
  if (cuda == 0) answers = kWithoutCuda;
  std::memset(properties, 0, sizeof properties);
  std::strcpy(reinterpret_cast<char*>(properties), "pretended");
  put<int64_t>(kTotalMemory, bytes);
  put<int64_t>(kSharedMemory, 49152);
  put<int>(kRegisters, 65536);
  put<int>(kWarp, 32);
  put<int>(kThreads, 1024);
  put<int>(kGrid, 0x7fffffff);
  put<int>(kGrid + 4, 65535);
  put<int>(kGrid + 8, 65535);
  put<int>(kMajor, capability / 10);
  put<int>(kMinor, capability % 10);
  put<int>(cuda >= 13 ? kProcessors13 : kProcessors12, processors);
  int turned = 0;
  dl_iterate_phdr(turn_library, &turned);
  return turned;
}

// The stream that the calling thread's kernels go to; 0 is the usual one.
extern "C" int64_t plimsoll_current_stream() { return current_stream; }

// An object that says no to whatever it is asked, to stand in PyTorch's table of device guards.
extern "C" const void* plimsoll_nobody() { return nobody(); }
