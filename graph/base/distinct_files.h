// Whether files that are to be written are files of their own: what one output writes, another must
// not, and nothing that is read may be written over.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"

namespace plimsoll {

struct NamedFile {
  std::string_view setting;  // that names it: "html"; empty: none does
  std::string path;          // empty: it is not asked for
};

// E114 where two of `written`, or one of them and one of `read`, are one file, by whatever paths
// and links. What is no plain file (a pipe, a device) may take several. Cost: a look at each.
Result<void> distinct_files(const std::vector<NamedFile>& written,
                            const std::vector<NamedFile>& read = {});

}  // namespace plimsoll
