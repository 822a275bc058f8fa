#include "graph/base/embedded.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/base/inflate.h"

namespace plimsoll {

std::vector<std::string> EmbeddedFiles::names(std::string_view prefix) const {
  std::vector<std::string> found;
  for (const EmbeddedFile& file : files_) {
    if (file.name.starts_with(prefix)) found.emplace_back(file.name);
  }
  return found;
}

const EmbeddedFile* EmbeddedFiles::find(std::string_view name) const {
  const auto at = std::lower_bound(
      files_.begin(), files_.end(), name,
      [](const EmbeddedFile& file, std::string_view wanted) { return file.name < wanted; });
  return at != files_.end() && at->name == name ? &*at : nullptr;
}

Result<std::string> EmbeddedFiles::read(std::string_view name) const {
  const EmbeddedFile* file = find(name);
  if (!file) return error("E901", fmt::format("no embedded file '{}'", name));
  if (!file->deflated) return std::string(file->packed);
  return inflated(file->packed, Packing::kDeflate, file->size, file->size);
}

Result<std::string> gunzip(std::string_view packed, size_t limit) {
  return inflated(packed, Packing::kGzip, limit);
}

}  // namespace plimsoll
