// Defaults of one's own: PLIMSOLL_PRECISION=amp-bf16 in the environment, or precision: amp-bf16 in
// ./plimsoll.yaml, for every shared flag of one value and for gpu. A flag wins over the
// environment, that over the file, that over what is built in. Files of training programs, which a
// flag names, stand between the two.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "estimator/app/cli/shared_flags.h"
#include "graph/base/distinct_files.h"

namespace plimsoll::cli {

struct FlagsWithDefaults {
  SharedFlags flags;
  std::string used;  // "precision amp-bf16 of the environment"; empty where none was
  std::set<std::string, std::less<>> names;  // of those
  std::vector<NamedFile> read;               // files that are read; no output may be one of them
};

// The flags with the defaults found, and with the settings of files of training programs, but for
// those of names that are `left_out`, which are said otherwise. E3xx for a plimsoll.yaml that
// cannot be read, E304 for a key that is no such flag, E311 for one without a value or with
// several, E6xx for a file that cannot be opened; E101 for a variable PLIMSOLL_* that is no such
// flag's.
Result<FlagsWithDefaults> with_defaults(const SharedFlags& flags,
                                        const std::set<std::string, std::less<>>& left_out = {});
// As to_request(), of them; Request::defaults names those that were used. `read`: as above.
Result<Request> request_with_defaults(const SharedFlags& flags,
                                      const std::set<std::string, std::less<>>& left_out = {},
                                      std::vector<NamedFile>* read = nullptr);
// Files among the values of settings, and the model's.
std::vector<NamedFile> files_named_by(const GivenSettings& given);

}  // namespace plimsoll::cli
