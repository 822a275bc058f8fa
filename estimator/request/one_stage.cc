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
      fmt::format("{}: this answer is for one rank, but the stages of a pipeline differ",
                  setting("pp", std::to_string(stages))),
      {},
      fmt::format("{} is in the first stage, {} in the last", setting("rank", "0"),
                  setting("rank", std::to_string((stages - 1) * mesh.stride(Axis::kStage)))));
}

}  // namespace plimsoll
