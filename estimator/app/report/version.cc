#include "estimator/app/report/version.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/base/hash.h"
#include "graph/base/try.h"
#include "hwdb/hwdb.h"
#include "plimsoll_commit.h"

namespace plimsoll {

std::string_view commit() { return PLIMSOLL_COMMIT; }

Result<std::vector<DataVersion>> data_versions() {
  const EmbeddedFiles files = hwdb_files();
  std::vector<DataVersion> versions;
  std::vector<std::string> texts;
  Sha256 hash;
  for (const std::string& name : files.names()) {
    const std::string kind = name.substr(0, name.find('/'));
    if (versions.empty() || versions.back().kind != kind) {
      if (!versions.empty()) versions.back().digest = hash.hex().substr(0, 12);
      versions.push_back({.kind = kind, .digest = {}});
    }
    const auto text = TRY(files.read(name));
    ++versions.back().files;
    hash.update(std::as_bytes(std::span(name.c_str(), name.size() + 1)));
    hash.update(std::as_bytes(std::span(text)));
  }
  if (!versions.empty()) versions.back().digest = hash.hex().substr(0, 12);
  return versions;
}

}  // namespace plimsoll
