#include "graph/parallel/split_check.h"

#include <fmt/format.h>

#include <string>

#include "graph/base/setting.h"

namespace plimsoll::parallel {
namespace {

bool divides(const TensorSplit& split) { return split.blocks > 0 && split.whole_attention == 0; }

std::string nearest_that_works(const Graph& graph, int64_t ranks) {
  while (--ranks > 1) {
    if (divides(split_tensors(graph, ranks, false)))
      return "nearest that works: " + setting("tp", std::to_string(ranks));
  }
  return "blocks are found by numbered modules, such as h.0, that hold dense layers";
}

}  // namespace

Result<void> check_split(const Graph& graph, const Recipe& recipe, const TensorSplit& split) {
  const int64_t ranks = recipe.parallel.mesh.extent(Axis::kTensor);
  if (ranks == 1) return {};
  if (recipe.finetune.kind != FinetuneKind::kFull || recipe.finetune.quantize) {
    return error("E120",
                 fmt::format("{}: adapters and quantized weights are not split between ranks",
                             setting("tp", std::to_string(ranks))),
                 {}, "leave " + setting("tp") + " out, or train all weights");
  }
  if (divides(split)) return {};
  return error(
      "E120",
      fmt::format("{}: the number of GPUs does not divide layers and heads of the network's blocks",
                  setting("tp", std::to_string(ranks))),
      {}, nearest_that_works(graph, ranks));
}

}  // namespace plimsoll::parallel
