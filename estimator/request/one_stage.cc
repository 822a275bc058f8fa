#include "estimator/request/one_stage.h"

#include <fmt/format.h>

#include "graph/base/setting.h"

namespace plimsoll {

Result<void> check_one_stage(const Request& request, const Platform& platform) {
  const Mesh& mesh = platform.parallel.mesh;
  const int64_t stages = mesh.extent(Axis::kStage);
  if (stages == 1 || request.given.contains("rank")) return {};
  return error(
      "E114",
      fmt::format("{}: stages differ in what they need, and this answers of one rank",
                  setting("pp", std::to_string(stages))),
      {},
      fmt::format("{} is of the first stage, {} of the last", setting("rank", "0"),
                  setting("rank", std::to_string((stages - 1) * mesh.stride(Axis::kStage)))));
}

}  // namespace plimsoll
