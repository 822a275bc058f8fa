#include "estimator/model/ready_model.h"

#include <fmt/format.h>

#include "estimator/model/adapted_graph.h"
#include "estimator/model/bind_symbols.h"
#include "estimator/model/training_notes.h"
#include "estimator/model/turned_layout.h"
#include "graph/base/append.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/exporter/position_tables.h"
#include "graph/exporter/weight_roles.h"
#include "graph/ops/infer.h"
#include "graph/parallel/stage.h"
#include "graph/parallel/stage_check.h"
#include "graph/rewrite/assume_dropout.h"
#include "graph/rewrite/cast.h"
#include "graph/rewrite/drop_masks.h"
#include "graph/rewrite/fold.h"
#include "graph/rewrite/restore_casts.h"
#include "graph/rewrite/widen_adapters.h"
#include "graph/rewrite/widen_norms.h"
#include "graph/rewrite/widen_softmax.h"
#include "graph/rewrite/written_weights.h"

namespace plimsoll {
namespace {

// One graph of all networks, and what a step does with them.
TrainingPlan merge(ModelConfig& config, Graph& graph, bool losses_given) {
  const auto losses = [&](NamedGraph& network) {
    return losses_given ? std::vector<OutputLoss>{} : std::move(network.losses);
  };
  if (config.networks.size() == 1) {
    NamedGraph& only = config.networks.front();
    graph = std::move(only.graph);
    return plan_for(graph, losses(only));
  }
  TrainingPlan plan;
  graph.name = config.name;
  std::map<std::string, size_t> index;
  for (NamedGraph& network : config.networks) {
    index[network.name] = plan.networks.size();
    graph.batch_symbol = network.graph.batch_symbol;
    plan.networks.push_back(
        append_network(graph, std::move(network.graph), network.name, losses(network)));
  }
  const auto indices = [&](const std::vector<std::string>& names) {
    std::vector<size_t> found;
    for (const std::string& name : names) found.push_back(index.at(name));
    return found;
  };
  for (const SchedulePhase& phase : config.schedule) {
    plan.phases.push_back({.trained = index.at(phase.network),
                           .forward_only = indices(phase.forward_only),
                           .through = indices(phase.through),
                           .passes = phase.passes,
                           .gradient_penalty = phase.gradient_penalty,
                           .repeat = phase.repeat});
  }
  return plan;
}

// "48 GELU, from 240 nodes of the file", by pattern.
std::vector<std::string> summary_of(const RecoverReport& report) {
  struct Count {
    size_t groups = 0, nodes = 0;
  };
  std::map<std::string_view, Count> counts;
  for (const Recovered& r : report.found) {
    Count& count = counts[r.pattern];
    ++count.groups;
    count.nodes += r.nodes;
  }
  std::vector<std::string> lines;
  for (const auto& [pattern, count] : counts) {
    lines.push_back(
        fmt::format("{} {}, from {} nodes of the file", count.groups, pattern, count.nodes));
  }
  return lines;
}

// --dropout P on a file whose exporter dropped dropout.
void put_dropout_back(Graph& graph, const Recipe& recipe, std::vector<std::string>& basis) {
  const double ratio = recipe.assumed_dropout.value_or(0);
  if (recipe.mode == Mode::kInference || ratio <= 0) return;
  const AssumedDropout assumed = assume_dropout(graph, ratio);
  if (assumed.has_own) {
    basis.push_back(fmt::format("dropout {} in place of the file's ratios", ratio));
  } else if (assumed.total() == 0) {
    basis.push_back("the file has no dropout and no layer where it is normally used");
  } else {
    basis.push_back(
        fmt::format("dropout {} assumed, the file has none: {}", ratio, describe(assumed)));
  }
}

// Stochastic depth of a training file or of a config, in a pass that has no dropout: was there any?
bool drop_stochastic_depth(ReadyModel& model, RecoverReport& recovered) {
  if (model.recipe.mode != Mode::kInference && !model.recipe.ignore_dropout) return false;
  const DroppedMasks dropped = drop_masks(model.graph);
  for (Recovered& one : recovered.found) {
    if (one.node != kNoNode) one.node = dropped.new_ids[one.node];
  }
  if (dropped.masks > 0)
    model.basis.push_back(
        fmt::format("{} random masks belong to dropout and are not applied", dropped.masks));
  return dropped.masks > 0;
}

// Casts that a file in single precision need not write, and 16 bits need.
void widen(Graph& graph, std::vector<std::string>& basis) {
  if (const size_t norms = widen_norms(graph); norms > 0)
    basis.push_back(
        fmt::format("{} RMS norms assumed to compute in fp32: exporters drop casts "
                    "that change nothing",
                    norms));
  widen_softmax(graph);
  if (const size_t lines = restore_casts(graph); lines > 0)
    basis.push_back(
        fmt::format("{} expressions run in fp32, as their source lines in the file say", lines));
}

// In the type that a Hugging Face config names, as from_pretrained() loads it, unless another one
// was asked for. What is prepared for QLoRA is in 32 bits, and products run in mixed precision, as
// the Trainer of transformers has it.
void take_dtype(ReadyModel& model, DType dtype, const ModelRequest& request) {
  if (request.precision_given || model.recipe.precision != &precisions().front()) return;
  if (dtype != DType::kBFloat16 && dtype != DType::kFloat16) return;
  std::string name = dtype == DType::kBFloat16 ? "bf16" : "fp16";
  if (stays_wide(model.recipe.finetune) && model.recipe.mode != Mode::kInference)
    name = "amp-" + name;
  model.recipe.precision = find_precision(name);
  model.basis.push_back(fmt::format("precision: {}, the type in the config; {} changes it", name,
                                    setting("precision")));
}

// A compiler's own choice, where the program's images have channels first.
void turn_layout(ReadyModel& model) {
  if (model.policy.channels_last ||
      !turns_channels_last(model.graph, model.recipe.mode, model.binding)) {
    return;
  }
  model.policy.channels_last = true;
  model.basis.emplace_back(
      "compile: images use channels last, which Inductor chooses for such a network");
}

// A sequence that is longer than a table of its positions: such a step ends in an error.
void tell_of_positions(ReadyModel& model, Decider& decider) {
  for (const PositionTable& t : position_tables(model.graph)) {
    if (decider.at_most(t.positions, t.rows)) continue;
    const int64_t positions = t.positions.evaluate(model.binding).value_or(0);
    const int64_t rows = t.rows.evaluate(model.binding).value_or(0);
    model.warnings.push_back(
        warning(std::string(kBeyondPositions),
                fmt::format("{} positions, but table '{}' has {}: the model cannot run", positions,
                            shortened(model.graph.tensors[t.table].name), rows),
                {}, fmt::format("give a {} within the table", setting("dim"))));
    return;
  }
}

constexpr const char* kServed = "sequence";  // the dimension of positions

// Rotary embeddings and biases by distance have no table: transformers computes them for any
// length, and a training step runs. Engines refuse to serve what the model was not trained for.
void tell_of_length(ReadyModel& model, std::optional<int64_t> stated, Decider& decider) {
  if (!stated || decider.at_most(Dim::symbol(kServed), Dim(*stated))) return;
  model.warnings.push_back(
      warning(std::string(kBeyondStated),
              fmt::format("{} positions, but the config states {}: engines such as vLLM refuse a "
                          "longer sequence, for which the model was not trained",
                          model.binding.at(kServed), *stated),
              {},
              fmt::format("give a {} of at most {}, or a config with more by rope_scaling",
                          setting_entry("dim", kServed, "N"), *stated)));
}

// Shapes that do not agree at another batch than that of the export are the export's.
Diagnostics at_exported_batch(Diagnostics errors, const ReadyModel& ready) {
  const int64_t exported = ready.graph.baked_batch;
  const auto batch = ready.binding.find(ready.batch_symbol);
  const int64_t here = batch == ready.binding.end() ? ready.facts.batch : batch->second;
  if (exported == 0 || here == exported) return errors;
  errors.front().help =
      fmt::format("exported at a batch of {}: export with a dynamic batch, or give {}", exported,
                  setting("batch", std::to_string(exported)));
  return errors;
}

void tell_of_pieces(ReadyModel& ready, size_t attention) {
  if (attention == 0 || !ready.policy.attention.memory_efficient) return;
  ready.basis.push_back(
      fmt::format("attention: the file has {} as products around a softmax, and they run so; {} "
                  "replaces them by the framework's operator",
                  attention, setting("attention", "fused")));
}

// What an ONNX file's graph stands for, put back where it is asked for.
RecoverReport recover_from_onnx(ReadyModel& ready, bool recovers, Decider& decider) {
  Graph& graph = ready.graph;
  RecoverReport recovered;
  find_written_weights(graph);
  if (recovers) {
    recovered = recover(graph, &decider, ready.policy.attention.of_pieces);
    ready.recognised = summary_of(recovered);
    tell_of_pieces(ready, recovered.attention_in_pieces);
    put_dropout_back(graph, ready.recipe, ready.basis);
    drop_stochastic_depth(ready, recovered);
  } else {
    fold(graph);
  }
  if (ready.recipe.precision->autocast) widen_adapters(graph);
  return recovered;
}

void cast_to_precision(ReadyModel& ready, bool from_onnx) {
  const PrecisionRow& precision = *ready.recipe.precision;
  if (from_onnx && is_half(precision)) widen(ready.graph, ready.basis);
  if (precision.storage != DType::kFloat32 && !stays_wide(ready.recipe.finetune))
    cast(ready.graph, precision.storage, !precision.batch_norms_in_fp32);
  else if (from_onnx && is_half(precision))
    drop_given_casts(ready.graph);
}

}  // namespace

Recipe graph_recipe(const Recipe& recipe) {
  Recipe of_graph;
  of_graph.mode = recipe.mode;
  of_graph.precision = recipe.precision;
  of_graph.loss = recipe.loss;
  of_graph.assumed_dropout = recipe.assumed_dropout;
  of_graph.ignore_dropout = recipe.ignore_dropout;
  of_graph.evaluates = recipe.evaluates;
  of_graph.compiled = recipe.compiled;
  of_graph.finetune = recipe.finetune;
  if (recipe.parallel.sharded == Sharded::kWeights) of_graph.parallel.sharded = Sharded::kWeights;
  return of_graph;
}

Result<ReadyModel> make_ready(LoadedModel model, const ModelRequest& request, const Recipe& recipe,
                              const Policy& policy) {
  ReadyModel ready{.name = model.config.name,
                   .facts = std::move(model.facts),
                   .meta = std::move(model.config.meta),
                   .builtin = model.builtin,
                   .from_onnx = model.from_onnx,
                   .recipe = graph_recipe(recipe),
                   .policy = policy,
                   .batch_symbol = {},
                   .graph = {},
                   .plan = {},
                   .longest = {},
                   .binding = {},
                   .decider = Decider({}),
                   .warnings = std::move(model.warnings)};
  Graph& graph = ready.graph;
  TrainingPlan& plan = ready.plan;
  plan = merge(model.config, graph, request.loss_given);
  ready.batch_symbol = graph.batch_symbol;
  take_dtype(ready, model.dtype, request);
  if (model.adapters && ready.recipe.finetune == Finetune{}) {
    ready.recipe.finetune = *model.adapters;
    ready.basis.emplace_back("LoRA: settings of the folder's adapter_config.json");
  }
  if (model.quantize && !quantization_of(ready.recipe.finetune)) {
    ready.recipe.finetune.quantize = model.quantize;
    ready.basis.push_back(fmt::format("quantized: {}, as in the config; {} changes it",
                                      model.quantize->name, setting("quantize")));
  }
  if (const auto& losses = plan.networks.front().losses; !losses.empty()) {
    ready.recipe.loss = losses.front().kind;
  }
  append(ready.warnings,
         training_notes(graph, ready.recipe, model.from_onnx && request.loss_given));
  ready.longest = ready.meta.longest;
  for (const auto& dimension : request.dims) ready.longest.erase(dimension.first);
  auto binding = TRY(bind_symbols(graph, request, model.builtin, ready.basis));
  ready.binding = std::move(binding);
  ready.decider = Decider(ready.binding, graph.guards);
  Decider& decider = ready.decider;
  InferOptions options{.limits = request.limits,
                       .least_extent = model.from_onnx ? 0 : 1,
                       .assume = request.assume,
                       .contents = request.contents};
  Diagnostics noted;
  if (auto inferred = infer(graph, decider, noted, options); !inferred) {
    return tl::make_unexpected(at_exported_batch(inferred.error(), ready));
  }
  tell_of_positions(ready, decider);
  if (request.serving && ready.binding.contains(kServed))
    tell_of_length(ready, model.positions, decider);
  cast_to_precision(ready, model.from_onnx);
  if (model.from_onnx) {
    append(ready.warnings, noted);
    ready.recovered = recover_from_onnx(ready, request.recover, decider);
    plan = plan_for(graph);  // passes renumber nodes
  } else if (drop_stochastic_depth(ready, ready.recovered)) {
    plan = plan_for(graph, std::move(plan.networks.front().losses));
  }
  const auto adapted = TRY(adapt(graph, ready.recipe, model.lora, plan.networks.front().losses));
  append(ready.basis, adapted);
  if (ready.recipe.finetune != Finetune{})
    plan = plan_for(graph, std::move(plan.networks.front().losses));
  plan.roles = classify_parameters(graph);
  if (ready.recipe.compiled) turn_layout(ready);
  return ready;
}

bool is_staged(const Recipe& recipe) { return recipe.parallel.mesh.extent(Axis::kStage) > 1; }

Result<ReadyModel> at_stage(const ReadyModel& whole, const Recipe& recipe) {
  if (whole.plan.networks.size() > 1) {
    return error("E120",
                 setting("pp") +
                     ": pipelines of several networks that are trained in turn are not modelled");
  }
  auto stage = TRY(parallel::stage_of(whole.graph, whole.plan.roles, recipe.parallel));
  ReadyModel part{.name = whole.name,
                  .facts = whole.facts,
                  .meta = whole.meta,
                  .builtin = whole.builtin,
                  .from_onnx = whole.from_onnx,
                  .recipe = whole.recipe,
                  .policy = whole.policy,
                  .batch_symbol = whole.batch_symbol,
                  .graph = {},
                  .plan = parallel::plan_of(stage, whole.plan.networks.front().losses),
                  .longest = whole.longest,
                  .binding = whole.binding,
                  .decider = whole.decider,
                  .recognised = whole.recognised,
                  .basis = whole.basis,
                  .warnings = whole.warnings};
  append(part.warnings, TRY(parallel::check_stages(stage.blocks, recipe)));
  part.graph = std::move(stage.graph);
  return part;
}

}  // namespace plimsoll
