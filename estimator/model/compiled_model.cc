#include "estimator/model/compiled_model.h"

#include <fmt/format.h>

#include "estimator/model/adapted_graph.h"
#include "estimator/model/bind_symbols.h"
#include "estimator/model/recorded_step.h"
#include "estimator/model/training_notes.h"
#include "estimator/model/turned_layout.h"
#include "estimator/model/weight_notes.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/exporter/position_tables.h"
#include "graph/exporter/weight_roles.h"
#include "graph/ops/infer.h"
#include "graph/parallel/stage.h"
#include "graph/parallel/stage_check.h"
#include "graph/parallel/unit.h"
#include "graph/rewrite/assume_dropout.h"
#include "graph/rewrite/cast.h"
#include "graph/rewrite/drop_masks.h"
#include "graph/rewrite/fold.h"
#include "graph/rewrite/recover.h"
#include "graph/rewrite/restore_casts.h"
#include "graph/rewrite/widen_adapters.h"
#include "graph/rewrite/widen_norms.h"
#include "graph/rewrite/widen_softmax.h"
#include "graph/rewrite/written_weights.h"

namespace plimsoll {
namespace {

template <class List>
void append(List& all, const List& more) {
  all.insert(all.end(), more.begin(), more.end());
}

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

// Stochastic depth of a training file or of a config, in a pass that has no dropout.
void drop_stochastic_depth(CompiledModel& model, RecoverReport& recovered) {
  if (model.recipe.mode != Mode::kInference && !model.recipe.ignore_dropout) return;
  const DroppedMasks dropped = drop_masks(model.graph);
  for (Recovered& one : recovered.found) {
    if (one.node != kNoNode) one.node = dropped.new_ids[one.node];
  }
  if (dropped.masks > 0)
    model.basis.push_back(
        fmt::format("{} random masks belong to dropout and are not applied", dropped.masks));
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

}  // namespace

Binding largest_batch(const CompiledModel& model, Binding binding) {
  for (const auto& [symbol, size] : model.longest) {
    const auto usual = model.binding.find(symbol);
    auto here = binding.find(symbol);
    if (usual == model.binding.end() || here == binding.end()) continue;
    if (here->second == usual->second) here->second = std::max(here->second, size);
  }
  return binding;
}

int64_t batch_at(const CompiledModel& model, const Binding& binding) {
  const auto at = binding.find(model.batch_symbol);
  return at == binding.end() ? model.facts.batch : at->second;
}

namespace {

// In the type that a Hugging Face config names, as from_pretrained() loads it, unless another one
// was asked for. What is prepared for QLoRA is in 32 bits, and products run in mixed precision, as
// the Trainer of transformers has it.
void take_dtype(CompiledModel& model, DType dtype, const ModelRequest& request) {
  if (request.precision_given || model.recipe.precision != &precisions().front()) return;
  if (dtype != DType::kBFloat16 && dtype != DType::kFloat16) return;
  std::string name = dtype == DType::kBFloat16 ? "bf16" : "fp16";
  if (stays_wide(model.recipe.finetune) && model.recipe.mode != Mode::kInference)
    name = "amp-" + name;
  model.recipe.precision = find_precision(name);
  model.basis.push_back(fmt::format("precision: {}, the type in the config; {} changes it", name,
                                    setting("precision")));
}

// As the model's sources trained it, where that was asked for and its config tells. Never by
// default: what nobody names is momentum for every model, which callers rely on and models are
// compared by.
void take_published(CompiledModel& model) {
  const OptimizerRow* optimizer = model.meta.optimizer;
  if (!model.recipe.published || optimizer == nullptr) return;
  model.recipe.optimizer = optimizer;
  model.recipe.weight_decay = model.recipe.weight_decay || model.meta.weight_decay;
  model.basis.push_back(fmt::format("recipe: {}{}, as published ({})", optimizer->name,
                                    model.meta.weight_decay ? " with weight decay" : "",
                                    model.meta.optimizer_source));
}

// A compiler's own choice, where the program's images have channels first.
void turn_layout(CompiledModel& model) {
  if (model.policy.channels_last ||
      !turns_channels_last(model.graph, model.recipe.mode, model.binding)) {
    return;
  }
  model.policy.channels_last = true;
  model.basis.emplace_back(
      "compile: images use channels last, which Inductor chooses for such a network");
}

// A sequence that is longer than a table of its positions: such a step ends in an error.
void tell_of_positions(CompiledModel& model, Decider& decider) {
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
void tell_of_length(CompiledModel& model, std::optional<int64_t> stated, Decider& decider) {
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
Diagnostics at_exported_batch(Diagnostics errors, const CompiledModel& compiled) {
  const int64_t exported = compiled.graph.baked_batch;
  if (exported == 0 || batch_at(compiled, compiled.binding) == exported) return errors;
  errors.front().help =
      fmt::format("exported at a batch of {}: export with a dynamic batch, or give {}", exported,
                  setting("batch", std::to_string(exported)));
  return errors;
}

void tell_of_pieces(CompiledModel& compiled, size_t attention) {
  if (attention == 0 || !compiled.policy.attention.memory_efficient) return;
  compiled.basis.push_back(
      fmt::format("attention: the file has {} as products around a softmax, and they run so; {} "
                  "replaces them by the framework's operator",
                  attention, setting("attention", "fused")));
}

// What an ONNX file's graph stands for, put back where it is asked for.
RecoverReport recover_from_onnx(CompiledModel& compiled, bool recovers, Decider& decider) {
  Graph& graph = compiled.graph;
  RecoverReport recovered;
  find_written_weights(graph);
  if (recovers) {
    recovered = recover(graph, &decider, compiled.policy.attention.of_pieces);
    compiled.recognised = summary_of(recovered);
    tell_of_pieces(compiled, recovered.attention_in_pieces);
    put_dropout_back(graph, compiled.recipe, compiled.basis);
  } else {
    fold(graph);
  }
  drop_stochastic_depth(compiled, recovered);
  if (compiled.recipe.precision->autocast) widen_adapters(graph);
  return recovered;
}

void cast_to_precision(CompiledModel& compiled, bool from_onnx) {
  const PrecisionRow& precision = *compiled.recipe.precision;
  if (from_onnx && is_half(precision)) widen(compiled.graph, compiled.basis);
  if (precision.storage != DType::kFloat32 && !stays_wide(compiled.recipe.finetune))
    cast(compiled.graph, precision.storage, !precision.batch_norms_in_fp32);
  else if (from_onnx && is_half(precision))
    drop_given_casts(compiled.graph);
}

void take_notes(CompiledModel& compiled, WeightNotes notes) {
  append(compiled.basis, notes.basis);
  append(compiled.warnings, notes.warnings);
  compiled.open_less = std::move(notes.open_less);
  compiled.open_more = std::move(notes.open_more);
  compiled.names_until = std::move(notes.names_until);
}

// The graph of the rank's stage, and the plan of that.
Result<void> take_stage(CompiledModel& compiled, TrainingPlan& plan) {
  if (plan.networks.size() > 1) {
    return error("E120",
                 setting("pp") +
                     ": pipelines of several networks that are trained in turn are not modelled");
  }
  const ParallelPlan& shared = compiled.recipe.parallel;
  auto stage = TRY(parallel::stage_of(compiled.graph, classify_parameters(compiled.graph), shared));
  const auto blocks = static_cast<int64_t>(parallel::units_below(compiled.graph, "").size());
  const auto noted_stages = TRY(parallel::check_stages(blocks, compiled.recipe));
  compiled.warnings.insert(compiled.warnings.end(), noted_stages.begin(), noted_stages.end());
  plan = parallel::plan_of(stage, plan.networks.front().losses);
  compiled.graph = std::move(stage.graph);
  return {};
}

}  // namespace

namespace {

// A recorded step is there already; what the recipe says of training is its own to say.
Result<CompiledModel> compile_recorded(LoadedModel model, const ModelRequest& request,
                                       const Recipe& recipe, const Policy& policy) {
  const Record& record = *model.record;
  CompiledModel compiled;
  compiled.name = record.name;
  compiled.facts = std::move(model.facts);
  compiled.recipe = recipe;
  compiled.policy = policy;
  compiled.warnings = std::move(model.warnings);
  compiled.recorded = true;
  compiled.recorded_with = record.settings;
  compiled.graph = record.graph;
  compiled.batch_symbol = record.graph.batch_symbol;
  auto binding = TRY(bind_symbols(record.graph, request, false, compiled.basis));
  auto step = TRY(step_at(record, binding));
  if (const auto same = check_ranks(record, recipe.parallel.mesh); !same)
    return tl::make_unexpected(same.error());
  compiled.recipe.parallel = {};
  compiled.recipe.parallel.mesh = record.mesh;
  compiled.step = std::move(step);
  compiled.weight_roles = roles_of(record);
  compiled.basis = basis_of(record);
  compiled.binding = compiled.facts.symbols = std::move(binding);
  const auto batch = compiled.binding.find(compiled.batch_symbol);
  compiled.facts.batch = batch == compiled.binding.end() ? 0 : batch->second;
  return compiled;
}

}  // namespace

Result<CompiledModel> compile(LoadedModel model, const ModelRequest& request, const Recipe& recipe,
                              const Policy& policy) {
  if (model.record) return compile_recorded(std::move(model), request, recipe, policy);
  CompiledModel compiled;
  compiled.name = model.config.name;
  compiled.facts = std::move(model.facts);
  compiled.meta = std::move(model.config.meta);
  compiled.builtin = model.builtin;
  compiled.recipe = recipe;
  compiled.policy = policy;
  compiled.warnings = std::move(model.warnings);
  Graph& graph = compiled.graph;
  TrainingPlan plan = merge(model.config, graph, request.loss_given);
  compiled.batch_symbol = graph.batch_symbol;
  take_published(compiled);
  take_dtype(compiled, model.dtype, request);
  if (model.adapters && compiled.recipe.finetune == Finetune{}) {
    compiled.recipe.finetune = *model.adapters;
    compiled.basis.emplace_back("LoRA: settings of the folder's adapter_config.json");
  }
  if (model.quantize && !quantization_of(compiled.recipe.finetune)) {
    compiled.recipe.finetune.quantize = model.quantize;
    compiled.basis.push_back(fmt::format("quantized: {}, as in the config; {} changes it",
                                         model.quantize->name, setting("quantize")));
  }
  if (const auto& losses = plan.networks.front().losses; !losses.empty()) {
    compiled.recipe.loss = losses.front().kind;
  }
  append(compiled.warnings,
         training_notes(graph, compiled.recipe, model.from_onnx && request.loss_given));
  compiled.longest = compiled.meta.longest;
  for (const auto& dimension : request.dims) compiled.longest.erase(dimension.first);
  auto binding = TRY(bind_symbols(graph, request, model.builtin, compiled.basis));
  compiled.binding = std::move(binding);
  Decider decider(compiled.binding, graph.guards);
  InferOptions options{.limits = request.limits,
                       .least_extent = model.from_onnx ? 0 : 1,
                       .assume = request.assume,
                       .contents = request.contents};
  Diagnostics noted;
  RecoverReport recovered;
  if (auto inferred = infer(graph, decider, noted, options); !inferred) {
    return tl::make_unexpected(at_exported_batch(inferred.error(), compiled));
  }
  tell_of_positions(compiled, decider);
  if (request.serving && compiled.binding.contains(kServed))
    tell_of_length(compiled, model.positions, decider);
  cast_to_precision(compiled, model.from_onnx);
  if (model.from_onnx) {
    append(compiled.warnings, noted);
    recovered = recover_from_onnx(compiled, request.recover, decider);
    plan = plan_for(graph);  // passes renumber nodes
  }
  const auto adapted = TRY(adapt(graph, compiled.recipe, model.lora, plan.networks.front().losses));
  append(compiled.basis, adapted);
  if (compiled.recipe.finetune.kind == FinetuneKind::kFull)
    compiled.recipe.parallel.adapters_apart = false;
  if (compiled.recipe.finetune != Finetune{})
    plan = plan_for(graph, std::move(plan.networks.front().losses));
  if (compiled.recipe.compiled) turn_layout(compiled);
  const bool staged = compiled.recipe.parallel.mesh.extent(Axis::kStage) > 1;
  if (staged) {
    TRY(take_stage(compiled, plan));
  }
  auto expanded = TRY(expand(graph, plan, compiled.recipe, compiled.policy, decider));
  compiled.step = std::move(expanded.step);
  compiled.weight_roles = std::move(expanded.weight_roles);
  compiled.placements = std::move(expanded.placements);
  append(compiled.warnings, expanded.warnings);
  take_notes(compiled, weight_notes(graph, compiled.weight_roles, compiled.recipe,
                                    model.from_onnx && !staged ? &recovered : nullptr));
  compiled.facts.symbols = compiled.binding;
  const auto batch = compiled.binding.find(compiled.batch_symbol);
  compiled.facts.batch = batch == compiled.binding.end() ? 0 : batch->second;
  return compiled;
}

}  // namespace plimsoll
