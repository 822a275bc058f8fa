// From records of kernels that were measured on one card to its machine file.
#pragma once

#include <string>
#include <vector>

namespace plimsoll::calibrate {

struct MachineCommand {
  std::vector<std::string> records;  // files of measured runs
  std::string gpu;                   // empty: the only one in the records
  std::string hwdb;
  std::string out;  // empty: only the report
};

// Prints factor by factor what was refused and how far kernels left out are off without and with
// it; the exit status. E716 where no kernel is in the records, E717 where they are of several
// cards.
int fit_machine(const MachineCommand& command);

}  // namespace plimsoll::calibrate
