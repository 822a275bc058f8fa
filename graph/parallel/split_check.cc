#include "graph/parallel/split_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/parallel/attention_reads.h"
#include "graph/parallel/expert_split.h"

namespace plimsoll::parallel {
namespace {

bool divides(const TensorSplit& split) { return split.blocks > 0 && split.whole_attention == 0; }

// The largest smaller number of ranks that share the network; 1 where none does.
int64_t nearest_that_works(const Graph& graph, int64_t ranks) {
  while (--ranks > 1 && !divides(split_tensors(graph, ranks, false))) {
  }
  return std::max<int64_t>(ranks, 1);
}

// Of what the node attends to, the heads that the ranks do not divide; 0 where there are none.
int64_t heads_that_stay(const Graph& graph, NodeId id, int64_t ranks) {
  constexpr size_t kHeadsApart = 4;  // [batch, heads, sequence, size]
  for (const TensorId in : attended(graph, id)) {
    const auto& shape = graph.tensors[in].shape;
    const auto heads =
        shape && shape->size() == kHeadsApart ? (*shape)[1].constant() : std::nullopt;
    if (heads && *heads % ranks != 0) return *heads;
  }
  return 0;
}

// The smallest larger number of ranks that divides the heads and shares the network; 1 where none
// does.
int64_t larger_that_works(const Graph& graph, int64_t heads, int64_t ranks) {
  while (++ranks <= heads) {
    if (heads % ranks == 0 && divides(split_tensors(graph, ranks, false))) return ranks;
  }
  return 1;
}

tl::unexpected<Diagnostics> refused_heads(const Graph& graph, int64_t ranks, NodeId node,
                                          int64_t heads, const std::string& called) {
  const int64_t nearest = larger_that_works(graph, heads, ranks);
  return error("E120",
               fmt::format("{}: the number of GPUs does not divide {} of '{}'", called,
                           heads == 1 ? "the one head of keys and values"
                                      : fmt::format("the {} heads", heads),
                           shortened(graph.nodes[node].module)),
               {},
               nearest > 1 ? "nearest that works: " + setting("tp", std::to_string(nearest))
                           : setting("fsdp") + " shards any network's weights");
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
  if (split_experts(graph).adapted > 0)
    return error("E120", called + ": no program splits adapters of experts between GPUs", {},
                 "name other layers, such as " + setting("lora-targets", "q_proj,v_proj") +
                     ", or shard with " + setting("fsdp"));
  if (const int64_t heads = heads_that_stay(graph, split.first_whole, ranks); heads > 0)
    return refused_heads(graph, ranks, split.first_whole, heads, called);
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
