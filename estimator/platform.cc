#include "estimator/platform.h"

#include <fmt/format.h>

#include "graph/base/escape.h"

namespace plimsoll {
namespace {

Result<Version> asked_version(std::string_view flag, std::string_view example,
                              const std::optional<std::string>& asked, const Version& usual) {
  if (!asked) return usual;
  auto version = parse_version(*asked);
  if (!version) {
    return error("E103", fmt::format("{} takes a version such as {}, found '{}'", flag, example,
                                     shortened(*asked, 40)));
  }
  return *version;
}

}  // namespace

Result<Version> cudnn_version(const Platform& platform, const Request& request) {
  return asked_version("--cudnn", "7.6", request.cudnn, platform.framework.cudnn);
}

Result<Version> cuda_version(const Platform& platform, const Request& request) {
  return asked_version("--cuda", "12.8", request.cuda, platform.framework.cuda);
}

}  // namespace plimsoll
