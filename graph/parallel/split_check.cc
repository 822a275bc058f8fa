#include "graph/parallel/split_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"

namespace plimsoll::parallel {
namespace {

bool divides(const TensorSplit& split) { return split.blocks > 0 && split.whole_attention == 0; }

// The largest smaller number of ranks that share the network; 1 where none does.
int64_t nearest_that_works(const Graph& graph, int64_t ranks) {
  while (--ranks > 1 && !divides(split_tensors(graph, ranks, false))) {
  }
  return std::max<int64_t>(ranks, 1);
}

// More ranks cannot share what two cannot, for which the reason is another one than their number.
tl::unexpected<Diagnostics> refused(const Graph& graph, int64_t ranks, const TensorSplit& split) {
  const std::string called = setting("tp", std::to_string(ranks));
  if (const int64_t nearest = nearest_that_works(graph, ranks); nearest > 1)
    return error(
        "E120",
        called + ": this number of GPUs does not evenly divide the layers and heads of the blocks",
        {}, "nearest that works: " + setting("tp", std::to_string(nearest)));
  if (split.first_whole == kNoNode)
    return error(
        "E120", called + ": the network has no blocks that can be split", {},
        "Plimsoll finds blocks as numbered modules, such as h.0, that contain dense layers");
  return error("E120",
               fmt::format("{}: '{}' cannot be split by heads", called,
                           shortened(graph.nodes[split.first_whole].module)),
               {},
               "no program that Plimsoll follows has a plan for it; " + setting("fsdp") +
                   " shards any network's weights");
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
    // transformers 5.24 and peft 0.21 have no plan for layers of bitsandbytes or GPTQ
    // (distributed/tensor_parallel.py; tuners/lora/bnb.py, gptq.py); nor has Megatron-LM such ones.
    return error("E120", called + ": no library that trains splits quantized weights between GPUs",
                 {},
                 fmt::format("shard them with {}, or train with {}", setting("fsdp"),
                             setting("finetune", "lora")));
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
  return refused(graph, ranks, split);
}

Diagnostics split_notes(const Recipe& recipe, const TensorSplit& split) {
  Diagnostics notes;
  const std::string ranks =
      setting("tp", std::to_string(recipe.parallel.mesh.extent(Axis::kTensor)));
  if (split.whole_experts > 0)
    notes.push_back(
        warning("W358",
                fmt::format("{} splits no experts of {} layers: each GPU has them whole", ranks,
                            split.whole_experts),
                {}, setting("ep") + " gives each GPU some of the experts"));
  if (split.gathered_attention > 0)
    notes.push_back(warning(
        "W360",
        fmt::format("{} splits no heads of {} layers: norms over all heads come before attention",
                    ranks, split.gathered_attention),
        {}, setting("fsdp") + " shards the weights without it"));
  return notes;
}

}  // namespace plimsoll::parallel
