#include "estimator/answer/assumptions.h"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "estimator/answer/effects.h"
#include "estimator/model/compiled_model.h"
#include "estimator/request/platform.h"
#include "estimator/request/trainer.h"
#include "estimator/settings/acts.h"
#include "graph/base/setting.h"

namespace plimsoll {
namespace {

struct AssumedHere {
  const SettingScope& scope;
  const InputFacts& input;
};

// What is assumed of a setting that was not given; a row each, the most important first.
struct AssumptionRow {
  std::string_view setting;
  std::string_view value;                        // what help writes in place of one
  std::string (*text)(const AssumedHere& here);  // empty where nothing is assumed
};

std::string batch_text(const AssumedHere& here) {
  return fmt::format("batch {}", here.input.batch);
}

std::string precision_text(const AssumedHere& here) {
  return fmt::format("{} precision", here.scope.model.recipe.precision->name);
}

std::string optimizer_text(const AssumedHere& here) {
  const std::string_view name = here.scope.model.recipe.optimizer->name;
  return fmt::format("the {} optimizer{}", name,
                     name.ends_with("-loop") ? ", weight by weight" : "");
}

// What a trainer does that others do not.
std::string clip_text(const AssumedHere& here) {
  const Request& request = here.scope.request;
  if (!request.trainer || !request.recipe.clip_grad_norm) return "";
  return fmt::format("gradients are clipped, as {} does", request.trainer->program);
}

std::string checkpoint_text(const AssumedHere& here) {
  const Request& request = here.scope.request;
  if (!request.trainer || request.recipe.checkpoint == "none") return "";
  return fmt::format("blocks are recomputed in the backward pass, as in {}",
                     request.trainer->program);
}

// Without zero.Init the engine moves the whole model to each GPU (deepspeed/runtime/engine.py,
// _configure_distributed_model()), as where transformers' TrainingArguments come after the model.
std::string load_text(const AssumedHere& here) {
  const ParallelPlan& plan = here.scope.model.recipe.parallel;
  const bool by_engine =
      plan.is_sharded() && plan.sharded_by == ShardedBy::kZero && plan.sharded == Sharded::kWeights;
  return by_engine ? "weights are loaded under zero.Init" : "";
}

std::string framework_text(const AssumedHere& here) {
  const Platform& platform = here.scope.platform;
  const std::string library = runs_cudnn(here.scope) && !platform.device.is_host
                                  ? " with cuDNN " + platform.cudnn.text()
                                  : "";
  return platform.framework.id + library;
}

std::string memory_text(const AssumedHere& here) {
  const Request& request = here.scope.request;
  const bool limited = request.memory_bytes || request.display_bytes > 0;
  return limited || here.scope.platform.device.is_host ? "" : "nothing else uses the GPU's memory";
}

std::string loading_text(const AssumedHere& here) {
  const bool counted = here.scope.request.loader || !knows_loader(here.scope);
  return counted ? "" : "each batch is loaded before its step begins";
}

std::string host_text(const AssumedHere& here) {
  return here.scope.request.cpu.empty() ? "a host as old as the GPU" : "";
}

std::set<std::string> input_symbols(const Graph& graph) {
  std::set<std::string> symbols;
  for (const TensorId id : graph.inputs) {
    if (!graph.tensors[id].shape) continue;
    for (const Dim& dim : *graph.tensors[id].shape) dim.collect_symbols(symbols);
  }
  return symbols;
}

bool is_side_of_image(std::string_view symbol) {
  return symbol == "image" || symbol == "height" || symbol == "width";
}

std::string image_text(const AssumedHere& here) {
  const std::set<std::string> sizes = input_symbols(here.scope.model.graph);
  const auto extent = [&](const char* side) -> std::optional<int64_t> {
    const auto at = here.input.symbols.find(side);
    const bool counts = sizes.contains(side) && at != here.input.symbols.end() &&
                        !here.scope.request.dims.contains(side);
    return counts ? std::optional(at->second) : std::nullopt;
  };
  const auto side = extent("image"), height = extent("height"), width = extent("width");
  if (side) return fmt::format("images of {} x {}", *side, *side);
  return height && width ? fmt::format("images of {} x {}", *height, *width) : "";
}

// Other sizes of inputs, as the length of sequences.
void add_sizes(const AssumedHere& here, std::vector<Assumption>& all) {
  for (const std::string& symbol : input_symbols(here.scope.model.graph)) {
    const auto at = here.input.symbols.find(symbol);
    if (at == here.input.symbols.end() || symbol == here.scope.model.batch_symbol) continue;
    if (is_side_of_image(symbol) || here.scope.request.dims.contains(symbol)) continue;
    all.push_back(
        {"dim", fmt::format("{} {}", symbol, at->second), setting_entry("dim", symbol, "N")});
  }
}

constexpr AssumptionRow kRows[] = {{"batch", "N", batch_text},
                                   {"precision", "NAME", precision_text},
                                   {"optimizer", "NAME", optimizer_text},
                                   {"checkpoint", "none", checkpoint_text},
                                   {"clip-grad-norm", "none", clip_text},
                                   {"load", "whole", load_text},
                                   {"image", "N", image_text},
                                   {"framework", "NAME", framework_text},
                                   {"reserve", "SIZE", memory_text},
                                   {"workers", "N", loading_text},
                                   {"host", "ID", host_text}};

}  // namespace

std::vector<Assumption> assumptions_of(const SettingScope& scope, const InputFacts& input) {
  const Request& request = scope.request;
  const auto given = [&](std::string_view name) {
    return request.given.contains(name) || request.by_default.contains(name);
  };
  std::vector<Assumption> all;
  for (const AssumptionRow& row : kRows) {
    if (row.setting == "precision") add_sizes({scope, input}, all);  // behind the batch
    if (given(row.setting) || !why_without_effect(*find_setting(row.setting), scope).empty())
      continue;
    const AssumedHere here{scope, input};
    const std::string text = row.text(here);
    if (!text.empty())
      all.push_back({std::string(row.setting), text, setting(row.setting, row.value)});
  }
  return all;
}

}  // namespace plimsoll
