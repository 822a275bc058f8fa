// The card of this machine, as nvidia-smi tells it. The one child process that Plimsoll ever
// starts, and only where the user asks for it: with `--gpu local`, or by naming no GPU. Without a
// shell, from an absolute folder of PATH, with a limit on time and output. The library never does.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"
#include "hwdb/hwdb.h"

namespace plimsoll::cli {

// One GPU as a line of
//   nvidia-smi
//   --query-gpu=name,driver_version,memory.total,memory.free,mig.mode.current,compute_cap
// has it; what a driver does not report is missing.
struct LocalGpu {
  std::string name, driver;
  std::optional<int64_t> total_bytes, free_bytes;
  bool mig = false;  // given out in parts
  std::string compute_capability;
  bool operator==(const LocalGpu&) const = default;
};

// All lines of the answer. E727 where a line has no name, or none is there.
Result<std::vector<LocalGpu>> read_local_gpus(std::string_view answer);

// The MIG profiles of `nvidia-smi -L` ("  MIG 3g.40gb     Device  0: (UUID: ...)"), each once.
std::vector<std::string> read_mig_profiles(std::string_view list);

// The database's device for a card of this machine, with its free memory. `profile` names a part of
// it, or is empty. A card that no device file describes takes the figures of the one nearest to it
// of the same compute capability, W404; E140 where there is none.
Result<Device> local_device(const Hwdb& hwdb, const LocalGpu& gpu, std::string_view profile);

// An empty `gpus` gets what the variable PLIMSOLL_GPU names, E140 and the like naming it. Where
// `gpus` is empty still or has "local": asks the driver, brings the card into the database under
// that name, and puts it into an empty list. E109 with `example` where no GPU is named and
// nvidia-smi is not there; E146 where the machine has several kinds of GPU; E727 where "local" is
// named without nvidia-smi, and where that fails or lists none.
Result<void> find_local_gpu(Hwdb& hwdb, std::vector<std::string>& gpus, const std::string& example);

}  // namespace plimsoll::cli
