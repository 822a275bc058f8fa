// Host: what the machine around the GPU adds to a step, from one file hwdb/hosts/ID.json. These
// terms belong to a machine together with a framework, not to the GPU.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/base/units.h"
#include "hwdb/figures.h"
#include "hwdb/version.h"

namespace plimsoll {

// One framework's cost per step on this host:
//   step = larger of (gpu_factor * gpu, per_launch * launches) + per_step + per_array * arrays
// where "larger of" is smooth (estimator/time/step_time.h), and per_forward stands for per_step and
// arrays where there is no backward pass.
struct Dispatch {
  std::string framework;
  Version since;
  Seconds per_launch;
  Seconds per_launch_low, per_launch_high;  // what other hosts were seen to need
  // ... beside a card before Ampere, on a host that nobody named: machines age with their cards.
  std::optional<Seconds> per_launch_older;
  // Where there is no backward pass for which operators keep what they need; else as per_launch.
  std::optional<Seconds> per_forward_launch;
  // Of one operator of an unrolled recurrent layer, where each is counted; else as per_launch.
  std::optional<Seconds> per_operator;
  Seconds per_step;     // copies, synchronisation, Python around the step
  Seconds per_forward;  // ... around a forward pass alone
  Seconds per_array;    // per parameter array: key-value stores
  // The way of a batch to the device where it is slower than the copy: loaders, copies on the host;
  // 0: the host's pageable_copy or pinned_copy.
  BytesPerSecond input_path;
  Seconds per_replica;  // per parameter array and further GPU, where one process feeds them all
  double gpu_factor = 1;
  bool assumed = false;  // nobody measured it: its source begins so
};

// Stands for a machine of which nothing is known.
inline constexpr std::string_view kUnknownHost = "generic";

struct Host {
  std::string id;
  std::vector<std::string> aliases;
  std::string name;
  BytesPerSecond pageable_copy, pinned_copy;  // host to device, at PCIe 3 x16
  std::vector<Dispatch> dispatch;
  std::vector<FigureNote> figures;
  Diagnostics warnings;

  // The newest row of a framework that is not newer than `version`, its oldest where all are newer;
  // null where this host was never seen with the framework: ask the host "generic" then.
  const Dispatch* find(std::string_view framework, const Version& version) const;
};

// E3xx and E4xx as read_device.
Result<Host> read_host(std::string_view text, std::string_view file, std::string_view stem);

}  // namespace plimsoll
