#include "estimator/cli/idle_flags.h"

#include <fmt/format.h>

#include "graph/base/setting.h"

namespace plimsoll::cli {
namespace {

struct IdleRow {
  std::string_view verb, flag, why;
  bool refused = false;
};

constexpr std::string_view kNoHost = "it says nothing of the host";
constexpr std::string_view kNoRun = "it says nothing of a whole run";
constexpr std::string_view kOfRecords = "records say it themselves";

constexpr IdleRow kIdleRows[] = {
    {"max-batch", "batch", "the batch is what is searched"},
    {"max-batch", "epochs", kNoRun},
    {"max-batch", "samples", kNoRun},
    {"max-batch", "samples-in-memory", kNoHost},
    {"max-batch --vary", "epochs", kNoRun},
    {"max-batch --vary", "samples", kNoRun},
    {"max-batch --vary", "samples-in-memory", kNoHost},
    {"max-batch --vary", "longest", "one size is searched", true},
    {"max-batch --vary", "lengths", "one size is searched", true},
    {"sweep", "epochs", kNoRun},
    {"sweep", "samples", kNoRun},
    {"sweep", "samples-in-memory", kNoHost},
    {"validate", "gpu", kOfRecords, true},
    {"validate", "gpus", kOfRecords, true},
    {"validate", "mode", kOfRecords, true},
    {"validate", "optimizer", kOfRecords, true},
    {"validate", "precision", kOfRecords, true},
    {"validate", "samples-in-memory", kOfRecords, true},
    {"validate", "longest", "a record is of one size", true},
    {"validate", "lengths", "a record is of one size", true},
    {"validate", "epochs", kNoRun},
    {"validate --from", "longest", "a run is of one size", true},
    {"validate --from", "lengths", "a run is of one size", true},
    {"validate --from", "epochs", kNoRun},
    {"validate --from", "samples", kNoRun},
    {"validate", "samples", kNoRun},
};

}  // namespace

Diagnostics idle_flags(std::string_view verb, const Request& request) {
  Diagnostics said;
  for (const IdleRow& row : kIdleRows) {
    if (row.verb != verb || !request.given.contains(row.flag)) continue;
    if (row.refused) {
      said.push_back(
          error("E117", fmt::format("{} is not for {}: {}", setting(row.flag), verb, row.why))
              .value()
              .front());
    } else {
      said.push_back(warning(
          "W516", fmt::format("{} has no effect on {}: {}", setting(row.flag), verb, row.why)));
    }
  }
  return said;
}

}  // namespace plimsoll::cli
