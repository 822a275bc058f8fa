// Machine: what a user's own card was measured to do, in one file that `plimsoll-calibrate fit`
// writes from records of kernels and `--machine FILE` reads: by how much the predicted time of each
// class of kernels is multiplied on that card, what cuDNN listed on it, what a context took of it,
// the machine around it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"

namespace plimsoll {

struct MachineFactor {
  std::string kernel_class, arithmetic;  // as a calibration's fits name them: "conv", "f16_tensor"
  std::string pass;                      // "forward", "backward_data", ...; empty: every pass
  double factor = 1;                     // measured over predicted
  double range90 = 0;                    // ln: 90 of 100 kernels lie within; 0: as without the file
  int64_t kernels = 0;
  // By how much of their measured time kernels are wrong that the factor did not see, without it
  // and with it.
  double error_before = 0, error_after = 0;

  bool operator==(const MachineFactor&) const = default;
};

struct Machine {
  std::string gpu;     // an id of hwdb
  std::string source;  // the records
  std::vector<MachineFactor> factors;
  // Hz of the multiprocessors while they computed: of kernels one by one, which the factors hold
  // already. 0: not told.
  double clock = 0;
  // cuDNN's plans for convolutions on this card, a line of JSON each as `plimsoll-calibrate ask`
  // writes them.
  std::vector<std::string> workspaces{};
  // Bytes that a context took of the card in which nothing had run, by the memory that was free; 0:
  // not told.
  int64_t context_bytes = 0;
  std::string host{};  // a host file (hwdb/host.h); empty: nothing is told of the machine

  bool operator==(const Machine&) const = default;
};

// E3xx of the JSON reader. `file` is the name in messages.
Result<Machine> read_machine(std::string_view text, std::string_view file);
Result<Machine> open_machine(const std::string& path);  // and E6xx
std::string write_machine(const Machine& machine);

}  // namespace plimsoll
