#include "graph/parallel/split_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

// Engines cut matrices in few bits as they cut others, their scales with them; what bitsandbytes
// packed beforehand vLLM refuses to cut, but it packs parts as it loads them, in this form
// (vllm/model_executor/model_loader/bitsandbytes_loader.py).
constexpr std::string_view kSplitForms[] = {"gptq-4bit",     "gptq-4bit-32", "gptq-4bit-64",
                                            "gptq-4bit-row", "fp8",          "nf4-double"};

Result<void> check_frozen(const Recipe& recipe, const std::string& called) {
  const Finetune& finetune = recipe.finetune;
  if (recipe.mode != Mode::kInference) {
    if (!quantization_of(finetune)) return {};
    return error(
        "E120", called + ": quantized weights are not split between ranks that train", {},
        fmt::format("leave {} out, or train with {}", setting("tp"), setting("finetune", "lora")));
  }
  if (!finetune.quantize || std::ranges::count(kSplitForms, finetune.quantize->name) > 0) return {};
  return error("E120",
               fmt::format("{}: no engine splits weights that are stored as {}", called,
                           finetune.quantize->name),
               {}, fmt::format("{} can be split", fmt::join(kSplitForms, ", ")));
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
