#include "estimator/model/adapted_graph.h"

#include <fmt/format.h>

#include "graph/base/try.h"

namespace plimsoll {

bool stays_wide(const Finetune& finetune) {
  return finetune.kind == FinetuneKind::kQlora && finetune.prepared != Prepared::kNone;
}

namespace {

// Embeddings and the head of a prepared model, put back into `storage`: what of it is no norm.
void narrow_tables(Graph& graph, DType storage) {
  for (Tensor& t : graph.tensors) {
    const bool table = t.kind == TensorKind::kParameter && t.shape && t.shape->size() == 2;
    if (table && !t.quantized && t.frozen && t.dtype == DType::kFloat32) t.dtype = storage;
  }
}

}  // namespace

Result<std::vector<std::string>> adapt(Graph& graph, const Recipe& recipe,
                                       const AdapterNames& names, std::vector<OutputLoss>& losses) {
  std::vector<std::string> basis;
  Finetune requested = recipe.finetune;
  requested.quantize = quantization_of(requested);
  if (recipe.mode == Mode::kInference && !recipe.evaluates) requested.kind = FinetuneKind::kFull;
  if (requested.kind == FinetuneKind::kFull && !requested.quantize) return basis;
  if (requested.targets.empty())
    requested.targets = names.targets.empty() ? "all-linear" : names.targets;
  const DType storage = recipe.precision->storage;
  const DType compute = bits(storage) == 16 ? storage : DType::kBFloat16;
  // Where 16 bits have a copy in 32, FSDP gathers all that a unit has in 16, and DeepSpeed casts
  // the whole model (runtime/engine.py, _configure_distributed_model()).
  if (recipe.precision->master) requested.adapters_wide = false;
  const auto done = TRY(add_adapters(graph, requested, compute, names));
  if (stays_wide(requested) && requested.prepared == Prepared::kNorms)
    narrow_tables(graph, compute);
  for (OutputLoss& loss : losses) {
    for (const auto& [before, now] : done.outputs) {
      if (loss.output == before) loss.output = now;
    }
  }
  if (done.adapters > 0)
    basis.push_back(fmt::format("LoRA: rank {} on {} linear layers ({}), in {}", requested.rank,
                                done.adapters, requested.targets,
                                requested.adapters_wide ? "fp32" : "the type of each"));
  if (done.stacked > 0)
    basis.push_back(fmt::format(
        "LoRA: {} parameters of experts and routers are combined with their adapters at "
        "each use (peft 0.21, ParamWrapper)",
        done.stacked));
  if (const QuantizationRow* row = requested.quantize)
    basis.push_back(
        fmt::format("{} matrices are stored as {}: {}", done.quantized, row->name, row->source));
  const bool shards = recipe.parallel.sharded == Sharded::kWeights;
  if (requested.quantize && shards && requested.quantize->is_parameter)
    basis.emplace_back(
        "their elements are sharded as parameters in the type of the layers "
        "(bitsandbytes: bnb_4bit_quant_storage); their scales are whole on each GPU");
  return basis;
}

}  // namespace plimsoll
