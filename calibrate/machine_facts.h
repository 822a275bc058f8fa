// machine_facts: what `plimsoll-calibrate run` told of a card beside its kernels' times, for a
// machine file: copies, launches, what a context takes, clocks under load, the plans that its cuDNN
// listed with their workspaces.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hwdb/machine.h"
#include "hwdb/measured/run.h"

namespace plimsoll::calibrate {

class MachineFacts {
 public:
  // Of records of one card; what is none of its facts is passed over. E3xx for offers that are not
  // as run_record.h writes them.
  Result<void> add(const MeasuredRun& run);
  // `gpu`: its id.
  void complete(Machine& machine, const std::string& gpu) const;

 private:
  double figure(const char* name, double low, double high) const;
  std::string host_file(const std::string& gpu) const;
  Result<void> add_offers(const MeasuredRun& run, const JsonValue& offers);

  std::map<std::string, double> figures_;
  std::vector<double> clocks_;                     // Hz
  std::map<std::string, std::string> workspaces_;  // lines by their question
};

}  // namespace plimsoll::calibrate
