// What a process takes from the device before its first tensor: driver context, loaded kernels,
// library handles. No rule gives it: rows of the framework's file do, keyed by card, by the version
// of CUDA and by how modules are loaded, each with an interval and a source.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/units.h"
#include "hwdb/version.h"

namespace plimsoll {

// When the kernels of libraries come onto the card: each with its first use, or all of them when
// the library is loaded. CUDA_MODULE_LOADING chooses.
enum class ModuleLoading : uint8_t { kLazy, kEager };

std::string_view name(ModuleLoading loading);  // "lazy", "eager"
std::optional<ModuleLoading> parse_module_loading(std::string_view word);

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
  // On top of each, times the multiprocessors of the card: the stacks of its resident threads.
  Bytes per_sm;
  // And for each group of each convolution, where these have library handles of their own.
  Bytes per_convolution;

  bool holds_for(const Version& cuda) const {
    return !(cuda_since && cuda < *cuda_since) && !(cuda_before && !(cuda < *cuda_before));
  }
};

struct ContextQuestion {
  std::string_view device, architecture;
  Version cuda;
  std::optional<ModuleLoading> asked = {};
  ModuleLoading usual = ModuleLoading::kEager;  // where nothing is asked
  bool cuda_given = false;  // the version is the user's, not the framework's usual: it decides
};

struct ContextChoice {
  const ContextRow* row = nullptr;
  std::optional<ModuleLoading> loading;  // nothing: neither asked for nor told by the row's source
  std::string why;  // "row hopper: modules are loaded lazily, the default with CUDA 12.8"
};

// The row for the device, else for its architecture, else for "any"; of these the one for what was
// asked, or, where nothing was, one whose source does not state the loading before one for the
// usual. A row that does not state it stands for eager loading too: CUDA's only form before 11.7,
// and what the sizes of such sources show. Lazy loading is looked for in wider rows first; where
// there is none at all, the answer is as if nothing had been asked, and says so. A version of CUDA
// that the user gives asks for its default, on every card.
// `rows` ends with one for "any" that holds for all versions and states no loading. Where some row
// has lazy loading, the ranges of those that state none have both forms.
ContextChoice choose_context(const std::vector<ContextRow>& rows, const ContextQuestion& question);

}  // namespace plimsoll
