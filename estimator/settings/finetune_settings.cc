// Fine-tuning, in the words of Hugging Face's peft.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "estimator/model/compiled_model.h"
#include "estimator/settings/acts.h"
#include "estimator/settings/setting_value.h"
#include "estimator/settings/tables.h"
#include "estimator/settings/values.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/ir/finetune.h"
#include "graph/ir/precision.h"
#include "hwdb/version.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"full", "lora", "qlora"};
constexpr std::array<std::string_view, 3> kPrepared = {"off", "on", "norms"};
constexpr std::array<std::string_view, 2> kQuantizers = {"transformers", "fabric"};
constexpr std::array<std::string_view, 2> kAdapterForms = {"peft", "litgpt"};
constexpr std::string_view kNoAdapters = "without {} there are no adapters";
constexpr std::string_view kNothingQuantized =
    "no weight is quantized, or nothing is trained; {} quantizes";
constexpr std::string_view kFrozen = "inference trains nothing";

bool adapts(const SettingScope& s) {
  return trains(s) && s.request.recipe.finetune.kind != FinetuneKind::kFull;
}
bool never(const SettingScope&) { return false; }
bool quantizes(const SettingScope& s) {
  return trains(s) && quantization_of(s.model.recipe.finetune) != nullptr;
}
bool adapts_halves(const SettingScope& s) {
  return adapts(s) && bits(s.model.recipe.precision->storage) == 16;
}
bool flattens_adapters(const SettingScope& s) {
  return adapts(s) && plimsoll::shards(s) && s.request.parallel.fsdp &&
         s.request.parallel.fsdp_version == 1;
}
bool runs_again(const SettingScope& s) { return trains(s) && s.model.recipe.checkpoint != "none"; }
bool joins_projections(const SettingScope& s) {
  return adapts(s) && std::ranges::any_of(s.model.graph.tensors, [](const Tensor& t) {
           return t.name.ends_with("qkv_proj.weight") || t.name.ends_with("query_key_value.weight");
         });
}
bool is_prepared(const SettingScope& s) {
  return trains(s) && s.request.recipe.finetune.kind == FinetuneKind::kQlora &&
         bits(s.model.recipe.precision->storage) == 16;
}

SettingValue quantize() {
  SettingValue value;
  value.type = SettingValue::Type::kWord;
  value.placeholder = "FORM";
  value.words = [] {
    std::vector<std::string> names;
    for (const QuantizationRow& row : quantizations()) names.emplace_back(row.name);
    return names;
  };
  value.read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
    const auto at = TRY(read_word(row, text));
    into.recipe.finetune.quantize = &quantizations()[at];
    return {};
  };
  value.write = [](JsonWriter& out, const Request& from) {
    const QuantizationRow* form = from.recipe.finetune.quantize;
    form ? out.string(form->name) : out.null();
  };
  return value;
}

SettingValue bitsandbytes() {
  SettingValue value;
  value.type = SettingValue::Type::kText;
  value.placeholder = "VERSION";
  value.read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
    const auto version = parse_version(text);
    if (!version)
      return error("E106", fmt::format("{} takes a version, e.g. 0.42", setting(row.name)));
    into.recipe.finetune.keeps_inputs = *version < *parse_version("0.43.2");
    return {};
  };
  value.write = [](JsonWriter& out, const Request& from) {
    from.recipe.finetune.keeps_inputs ? out.string("0.42") : out.null();
  };
  return value;
}

SettingValue lora_dropout() {
  SettingValue value;
  value.type = SettingValue::Type::kNumber;
  value.placeholder = "P";
  value.read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
    const auto ratio = TRY(parse_real(setting(row.name), text, 0, 1));
    into.recipe.finetune.dropout = ratio;
    return {};
  };
  value.write = [](JsonWriter& out, const Request& from) {
    out.real(from.recipe.finetune.dropout);
  };
  return value;
}

}  // namespace

std::span<const SettingRow> finetune_settings() {
  static const SettingRow rows[] = {
      {.name = "finetune",
       .group = kTrainingGroup,
       .help = "train all weights (full) or adapters (lora, qlora)",
       .default_text = "full",
       .value = word_value<kKinds, 0, &Request::recipe, &Recipe::finetune, &Finetune::kind>("HOW"),
       .record = {.name = "finetune"},
       .axis = SweepAxis::kKernels,
       .acts = {trains, kFrozen}},
      {.name = "lora-rank",
       .group = kTrainingGroup,
       .help = "rank of the adapters",
       .default_text = "8",
       .value = count_value<&Request::recipe, &Recipe::finetune, &Finetune::rank>(1, 65536),
       .record = {.name = "lora_rank"},
       .axis = SweepAxis::kKernels,
       .acts = {adapts, kNoAdapters, "finetune=lora"}},
      {.name = "lora-alpha",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help = "scale of the adapters' output (lora_alpha)",
       .default_text = "8",
       .value = count_value<&Request::recipe, &Recipe::finetune, &Finetune::alpha>(1, 65536),
       .record = {.name = "lora_alpha"},
       .axis = SweepAxis::kKernels,
       .acts = {never, "a scale changes neither memory nor time"}},
      {.name = "lora-upcast",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help = "adapters are in fp32, as peft's; else in the type of their layer",
       .default_text = "on",
       .value = on_off_value<&Request::recipe, &Recipe::finetune, &Finetune::adapters_wide>(),
       .record = {.name = "adapter_fp32"},
       .axis = SweepAxis::kKernels,
       .acts = {adapts_halves, "only adapters of a 16-bit model may be in 16 bits, with {}",
                "finetune=lora"}},
      {.name = "lora-form",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help = "adapters as in peft, or as in litgpt, where query, key and value projections are "
               "one layer",
       .default_text = "peft",
       .value = word_value<kAdapterForms, 0, &Request::recipe, &Recipe::finetune, &Finetune::form>(
           "NAME"),
       .record = {.name = "lora_form"},
       .axis = SweepAxis::kKernels,
       .acts = {joins_projections,
                "only adapters of query, key and value projections differ, with {}",
                "finetune=lora"}},
      {.name = "lora-in-blocks",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help = "with --fsdp-version 1: adapters are sharded together with the other weights of "
               "their block",
       .value = on_off_switch<&Request::parallel, &ParallelRequest::adapters_in_blocks>(),
       .record = {.name = "lora_in_blocks"},
       .acts = {flattens_adapters, "only FSDP 1 has arrays of several weights; {} has them",
                "fsdp-version=1"}},
      {.name = "use-reentrant",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help = "--checkpoint with use_reentrant=True: blocks run again to their end; with "
               "--fsdp-version 1 and frozen weights, their inputs and gradients stay through the "
               "backward pass",
       .value = on_off_switch<&Request::recipe, &Recipe::reentrant>(),
       .record = {.name = "use_reentrant"},
       .axis = SweepAxis::kKernels,
       .acts = {runs_again, "no block is recomputed in the backward pass; {} recomputes them",
                "checkpoint=blocks"}},
      {.name = "lora-dropout",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help = "dropout ratio at the adapters' input",
       .default_text = "0",
       .value = lora_dropout(),
       .record = {.name = "lora_dropout"},
       .axis = SweepAxis::kKernels,
       .acts = {adapts, kNoAdapters, "finetune=lora"}},
      {.name = "lora-targets",
       .group = kTrainingGroup,
       .help = "modules as peft names them, e.g. q_proj,v_proj; or all-linear",
       .default_text = "peft's for the family, else all-linear",
       .value = text_value<&Request::recipe, &Recipe::finetune, &Finetune::targets>("NAMES"),
       .record = {.name = "lora_targets"},
       .axis = SweepAxis::kKernels,
       .acts = {adapts, kNoAdapters, "finetune=lora"}},
      {.name = "quantize",
       .group = kTrainingGroup,
       .help = "storage type of frozen linear weights",
       .default_text = "none; nf4-double with qlora",
       .value = quantize(),
       .record = {.name = "quantize"},
       .axis = SweepAxis::kKernels},
      {.name = "quantizer",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help = "library that quantizes: transformers (all linear layers except the head) or fabric "
               "(Lightning: also the head, from a copy in fp16)",
       .default_text = "transformers",
       .value =
           word_value<kQuantizers, 0, &Request::recipe, &Recipe::finetune, &Finetune::quantizer>(
               "NAME"),
       .record = {.name = "quantizer"},
       .axis = SweepAxis::kKernels,
       .acts = {quantizes, kNothingQuantized, "finetune=qlora"}},
      {.name = "bitsandbytes",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help = "version of bitsandbytes; before 0.43.2, products with quantized weights keep their "
               "input",
       .default_text = "the newest",
       .value = bitsandbytes(),
       .record = {.name = "bitsandbytes"},
       .axis = SweepAxis::kKernels,
       .acts = {quantizes, kNothingQuantized, "finetune=qlora"}},
      {.name = "kbit-prepare",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help = "which unquantized weights qlora keeps in fp32: all, as peft's "
               "prepare_model_for_kbit_training() does (on); norms, as TRL before 0.27; none (off)",
       .default_text = "on",
       .value = word_value<kPrepared, 0, &Request::recipe, &Recipe::finetune, &Finetune::prepared>(
           "on|off|norms"),
       .record = {.name = "kbit_prepare"},
       .axis = SweepAxis::kKernels,
       .acts = {is_prepared, "only a 16-bit model is prepared, with {}", "finetune=qlora"}},
  };
  return rows;
}

}  // namespace plimsoll
