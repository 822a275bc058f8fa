// validate --from FORM=FILE: one run that flags describe, and what meters wrote of it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "estimator/app/cli/flag_set.h"
#include "estimator/request/request.h"
#include "hwdb/hwdb.h"
#include "hwdb/measured/run.h"

namespace plimsoll::cli {

struct MeterFlags {
  std::vector<std::string> from;  // FORM=FILE
  std::string steps;              // training steps that nsys saw
};
void add_meters(const FlagSet& app, MeterFlags& flags);

struct MeteredRun {
  MeasuredRun run;
  std::vector<std::string> files;                              // of each figure
  std::vector<std::pair<std::string, std::string>> devices{};  // files and the cards they name
};

// E532 where a file names another card than the run's.
Result<void> check_cards(const MeteredRun& run, const Device& device, const Hwdb& hwdb);

// Reads the files. A GPU that they name is that of `request`, where it names none, so that only
// then this machine's is asked for. What they say beside goes to standard error. E105, E106 for
// a FORM=FILE that is none, E108 without a model or batch; as read_meter().
Result<MeteredRun> read_meters(const MeterFlags& flags, Request& request);

}  // namespace plimsoll::cli
