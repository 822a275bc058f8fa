// What a process takes from the device before its first tensor:
//
//   driver   per_thread for each thread that can be resident: its local memory and stack
//   modules  the code of framework and libraries: plain, with_cudnn or inference, and
//   per_generation
//            for each generation of tensor cores, for which libraries hold kernels of their own
//   handles  of cuBLAS, one for each thread that launches: forward's, and autograd's in training
//
// by rows of the framework's file, keyed by the version of CUDA and by how modules are loaded, each
// with an interval and a source.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/units.h"
#include "hwdb/device.h"
#include "hwdb/version.h"

namespace plimsoll {

// When the kernels of libraries come onto the card: each with its first use, or all of them when
// the library is loaded. CUDA_MODULE_LOADING chooses.
enum class ModuleLoading : uint8_t { kLazy, kEager };

std::string_view name(ModuleLoading loading);  // "lazy", "eager"
constexpr std::array<ModuleLoading, 2> values_of(ModuleLoading) {
  return {ModuleLoading::kLazy, ModuleLoading::kEager};
}

// CUDA C++ Programming Guide, "Lazy Loading", change history: introduced, disabled by default, in
// 11.7; the default on Linux since 12.2 (on Windows since 12.3).
bool can_load_lazily(const Version& cuda);
bool loads_lazily_by_default(const Version& cuda);

struct ContextRow {
  std::string architecture;              // of a device, or "any"; or the id of one device
  std::optional<ModuleLoading> loading;  // nothing: the source does not say
  std::optional<Version> cuda_since, cuda_before;
  Bytes plain;                     // no cuDNN call was made
  Bytes with_cudnn;                // convolutions, batch norm or recurrent layers were run
  std::optional<Bytes> inference;  // forward alone, with or without cuDNN; nothing: as training
  Bytes low, high;
  // The same of every card: the others' terms of the law above. `handle_hopper` since 9.0.
  Bytes per_thread, per_generation, handle, handle_hopper;
  // And for each group of each convolution, where these have library handles of their own.
  Bytes per_convolution;

  bool holds_for(const Version& cuda) const {
    return !(cuda_since && cuda < *cuda_since) && !(cuda_before && !(cuda < *cuda_before));
  }
};

// The driver's part of it: what a context takes in which nothing runs.
int64_t driver_bytes(const ContextRow& row, const Device& device);
// Of driver, generation's modules and handles, for a step that trains or not; what comes on top of
// plain, with_cudnn, inference, low and high alike.
int64_t card_bytes(const ContextRow& row, const Device& device, bool trains);

struct ContextQuestion {
  std::string_view device, architecture;
  Version cuda;
  std::optional<ModuleLoading> asked = {};
  ModuleLoading usual = ModuleLoading::kEager;  // where nothing is asked
};

struct ContextChoice {
  const ContextRow* row = nullptr;
  std::optional<ModuleLoading> loading;  // nothing: neither asked for nor told by the row's source
  std::string why;  // "row hopper: modules are loaded lazily, the default with CUDA 12.8"
};

// The row for the device, else for its architecture, else for "any"; of these the one for what was
// asked, or, where nothing was, for the usual. A row that does not state it stands for eager
// loading: CUDA's only form before 11.7. Lazy loading is looked for in wider rows first; where
// there is none at all, the answer is as if nothing had been asked, and says so.
// `rows` ends with one for "any" that holds for all versions and states no loading.
ContextChoice choose_context(const std::vector<ContextRow>& rows, const ContextQuestion& question);

}  // namespace plimsoll
