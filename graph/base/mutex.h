// Mutex: std::mutex, or nothing where a program has one thread and the standard library no mutex,
// as WebAssembly's.
#pragma once

#include <mutex>

namespace plimsoll {

#ifdef __STDCPP_THREADS__
using Mutex = std::mutex;
#else
struct Mutex {
  void lock() {}
  void unlock() {}
};
#endif

}  // namespace plimsoll
