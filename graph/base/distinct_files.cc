#include "graph/base/distinct_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "graph/base/escape.h"
#include "graph/base/setting.h"

namespace plimsoll {
namespace {

bool is_one(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code unknown;
  const auto there = std::filesystem::status(a, unknown);
  if (std::filesystem::exists(there)) {
    return std::filesystem::is_regular_file(there) && std::filesystem::equivalent(a, b, unknown) &&
           !unknown;
  }
  const auto first = std::filesystem::weakly_canonical(std::filesystem::absolute(a), unknown);
  if (unknown) return false;
  const auto second = std::filesystem::weakly_canonical(std::filesystem::absolute(b), unknown);
  return !unknown && first == second;
}

std::string named(const NamedFile& file) {
  return file.setting.empty() ? shortened(file.path, kQuotedColumns)
                              : setting(file.setting, file.path);
}

Result<void> check(const NamedFile& file, const NamedFile& other) {
  if (file.path.empty() || other.path.empty() || !is_one(file.path, other.path)) return {};
  return error("E114", fmt::format("{} and {} name one file", named(file), named(other)), {},
               "give each a different file");
}

}  // namespace

Result<void> distinct_files(const std::vector<NamedFile>& written,
                            const std::vector<NamedFile>& read) {
  for (size_t i = 0; i < written.size(); ++i) {
    for (size_t j = i + 1; j < written.size(); ++j) {
      if (auto distinct = check(written[i], written[j]); !distinct) return distinct;
    }
    for (const NamedFile& other : read) {
      if (auto distinct = check(written[i], other); !distinct) return distinct;
    }
  }
  return {};
}

}  // namespace plimsoll
