#include "estimator/request/platform.h"

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

int64_t memory_bytes(const Platform& platform, const Request& request) {
  return request.memory_bytes.value_or(platform.device.memory_reported.value);
}

int64_t usable_bytes(const Platform& platform, const Request& request) {
  return std::max<int64_t>(
      0, memory_bytes(platform, request) - request.reserve_bytes - request.display_bytes);
}

Result<Version> cudnn_version(const Platform& platform, const Request& request) {
  return asked_version("--cudnn", "7.6", request.cudnn, platform.framework.cudnn);
}

Result<Version> cuda_version(const Platform& platform, const Request& request) {
  return asked_version("--cuda", "12.8", request.cuda, platform.framework.cuda);
}

}  // namespace plimsoll
