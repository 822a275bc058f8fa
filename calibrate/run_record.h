// RunRecord: a kernel that was timed, as a line of JSON: a measured run that `plimsoll validate`
// and `plimsoll-calibrate fit` read, with all that was offered beside it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "calibrate/kernel_timing.h"
#include "graph/json/value.h"

namespace plimsoll::calibrate {

struct RunRecord {
  std::string device;               // its id
  std::string cudnn, cuda, driver;  // versions; empty where there is none
  std::string key;                  // of the kernel, key_of()
  std::optional<KernelAt> kernel;   // where the record tells all of it
  KernelTiming timing;
};

std::string line_of(const RunRecord& record, const KernelAt& kernel);
// Figures of a card, in lines of their own.
std::string line_of(const Figure& figure, const std::string& device, const std::string& driver);

struct RunLine {
  std::optional<RunRecord> kernel;
  std::optional<Figure> figure;
  std::string device;
};
// E3xx for a line of another form.
Result<RunLine> read_run_line(std::string_view line, const std::string& place);

}  // namespace plimsoll::calibrate
