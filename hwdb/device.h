// Device: what a GPU is, from one file hwdb/devices/ID.json.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/base/units.h"
#include "hwdb/figure_note.h"

namespace plimsoll {

// Arithmetic of one kind on the whole device, dense (never with structured sparsity).
struct Peak {
  FlopPerSecond rate;            // as the vendor quotes it
  double flop_per_sm_cycle = 0;  // rate = flop_per_sm_cycle * SMs * clock, within 1 %
  Hertz clock;                   // the clock the vendor's figure is for

  // The rate at another clock.
  FlopPerSecond at(Hertz other) const { return {rate.value * (other / clock)}; }
};

struct ComputeCapability {
  int major = 0;
  int minor = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy takes the zero of <=> for a pointer
  auto operator<=>(const ComputeCapability&) const = default;
};

// A part of a card that the driver gives out as a device of its own: NVIDIA's Multi-Instance GPU.
struct MigProfile {
  std::string name;           // "3g.40gb"
  int64_t sms = 0;            // of the card's
  int64_t memory_slices = 0;  // of Device::mig_memory_slices: its share of bandwidth and L2
  Bytes memory;               // as the driver reports it
};

struct Device {
  std::string id;
  std::vector<std::string> aliases;
  // As torch.cuda.get_device_name() and nvidia-smi print it; cards may share one.
  std::vector<std::string> names;
  // Where its figures are from, if not from the database alone: a file of the user's, the part of
  // a card, this machine's driver. For the report.
  std::string origin;
  bool display = false;  // drives displays, which take some of its memory
  bool is_host = false;  // the machine itself, no card: its memory alone is known
  std::string name;
  std::string architecture;  // "maxwell", "pascal-gp10x", "ampere-ga100", ...
  std::string chip;          // "GP104"
  ComputeCapability compute_capability;
  int64_t sms = 0;
  int64_t cuda_cores = 0;  // of the whole device
  Hertz base_clock, boost_clock;
  Hertz max_clock;  // what the card can really reach: the bound of "faster than light"
  // What the power limit leaves to seconds of compute-bound work; by the rule of power_limit.h
  // where nobody measured it.
  Hertz sustained_clock;
  Bytes l2, shared_per_sm;
  int64_t registers_per_sm = 0;  // 32-bit
  Bytes memory;                  // nominal
  Bytes memory_reported;         // as the driver reports it: what "fits" is judged by
  std::string memory_type;
  int64_t bus_width = 0;  // bits
  BytesPerSecond bandwidth;
  int64_t pcie_generation = 0, pcie_lanes = 0;
  int64_t nvlink_generation = 0, nvlink_links = 0;  // 0 where there is none
  Watts tdp;
  // "fp32", "fp64", "fp16", "bf16", "int8" on the plain cores; "tf32_tensor", "fp16_tensor",
  // "bf16_tensor", "fp8_tensor", "fp4_tensor", "int8_tensor", "fp64_tensor" on tensor cores.
  std::map<std::string, Peak, std::less<>> peaks;
  int64_t mig_memory_slices = 0;  // 0: it cannot be partitioned
  std::vector<MigProfile> mig;
  std::vector<FigureNote> figures;  // each figure with its source, in the file's order
  Diagnostics warnings;

  const Peak* peak(std::string_view name) const;
};

// The machine around a card as a device of its own, and how it is asked for: a run on the CPU. Its
// memory is the host's, where that tells it.
inline constexpr std::string_view kHostDevice = "cpu";
Device host_device();
bool is_host_device(std::string_view name);

// Reads a device file. `stem` is its name without ".json", which the "id" must repeat; empty where
// the file may have any name.
// E301-E331 as the JSON reader, E401 and E402 for quantities, E404 for a malformed id, E405 for a
// figure without a source; W401 for a memory in decimal units.
Result<Device> read_device(std::string_view text, std::string_view file, std::string_view stem);

// What a device file may hold, of no values: for its schema.
void describe_device_file(Fields& f);

}  // namespace plimsoll
