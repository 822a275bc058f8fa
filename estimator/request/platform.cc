#include "estimator/request/platform.h"

#include <fmt/format.h>

#include "graph/base/escape.h"
#include "graph/base/setting.h"

namespace plimsoll {
namespace {

Result<Version> asked_version(std::string_view asked_by, std::string_view example,
                              const std::optional<std::string>& asked, const Version& usual) {
  if (!asked) return usual;
  auto version = parse_version(*asked);
  if (!version) {
    return error("E103", fmt::format("{} takes a version such as {}, found '{}'", setting(asked_by),
                                     example, shortened(*asked, 40)));
  }
  return *version;
}

// Of what is free beside a context of some hundred MiB, whose part of the share is neglected.
int64_t left_to_system(const FrameworkProfile& framework, int64_t free) {
  if (framework.system_reserve.value == 0) return 0;
  const double share = framework.system_reserve_share * static_cast<double>(free);
  return std::min(free, std::max(framework.system_reserve.value, static_cast<int64_t>(share)));
}

}  // namespace

int64_t memory_bytes(const Platform& platform, const Request& request) {
  return request.memory_bytes.value_or(platform.device.memory_reported.value);
}

int64_t usable_bytes(const Platform& platform, const Request& request) {
  const int64_t free =
      memory_bytes(platform, request) - request.reserve_bytes - request.display_bytes;
  return std::max<int64_t>(0,
                           free - left_to_system(platform.framework, std::max<int64_t>(0, free)));
}

Result<Version> cudnn_version(const Platform& platform, const Request& request) {
  return asked_version("cudnn", "7.6", request.cudnn, platform.framework.cudnn);
}

Result<Version> cuda_version(const Platform& platform, const Request& request) {
  return asked_version("cuda", "12.8", request.cuda, platform.framework.cuda);
}

}  // namespace plimsoll
