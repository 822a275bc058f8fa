#include "graph/parallel/split_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>

#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/parallel/expert_split.h"

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

std::string names_of_cut() {
  std::vector<std::string_view> names;
  for (const QuantizationRow& row : quantizations()) {
    if (row.is_cut) names.push_back(row.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<void> check_frozen(const Recipe& recipe, const std::string& called) {
  const Finetune& finetune = recipe.finetune;
  if (recipe.mode != Mode::kInference) {
    if (!quantization_of(finetune)) return {};
    return error(
        "E120", called + ": quantized weights are not split between ranks that train", {},
        fmt::format("leave {} out, or train with {}", setting("tp"), setting("finetune", "lora")));
  }
  if (!finetune.quantize || finetune.quantize->is_cut) return {};
  return error("E120",
               fmt::format("{}: no engine splits weights that are stored as {}", called,
                           finetune.quantize->name),
               {}, names_of_cut() + " can be split");
}

}  // namespace

Result<void> check_split(const Graph& graph, const Recipe& recipe, const TensorSplit& split) {
  const int64_t ranks = recipe.parallel.mesh.extent(Axis::kTensor);
  if (ranks == 1) return {};
  TRY(check_frozen(recipe, setting("tp", std::to_string(ranks))));
  if (divides(split)) return {};
  if (split_experts(graph).experts > 1) {
    return error("E120",
                 setting("tp", std::to_string(ranks)) + ": experts are not split between ranks", {},
                 setting("ep") + " gives each rank some of the experts");
  }
  return error(
      "E120",
      fmt::format("{}: the number of GPUs does not divide layers and heads of the network's blocks",
                  setting("tp", std::to_string(ranks))),
      {}, nearest_that_works(graph, ranks));
}

}  // namespace plimsoll::parallel
