#include "hwdb/measured/finetune_key.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {
namespace {

// bitsandbytes' forms, as litgpt spells them (litgpt/finetune, --quantize).
std::string form_of(std::string_view quant) {
  constexpr std::string_view kLibrary = "bnb.", kDouble = "-dq";
  if (quant.starts_with(kLibrary)) quant.remove_prefix(kLibrary.size());
  if (!quant.ends_with(kDouble)) return std::string(quant);
  quant.remove_suffix(kDouble.size());
  return fmt::format("{}-double", quant);
}

// Projections as configs of transformers call them, where a source leaves the ending out, or says
// litgpt's words (litgpt/finetune/lora.py: lora_query, lora_mlp, ...).
std::string projection_of(const std::string& name) {
  constexpr std::array<std::string_view, 7> kShort = {"q", "k", "v", "o", "gate", "up", "down"};
  if (std::ranges::find(kShort, name) != kShort.end()) return name + "_proj";
  struct Word {
    std::string_view word, targets;
  };
  // Of GPT-NeoX it adapts parts of one layer; peft passes over names that a model has not.
  constexpr std::array<Word, 6> kWords = {
      {{"query", "q_proj,query_key_value"},
       {"key", "k_proj,query_key_value"},
       {"value", "v_proj,query_key_value"},
       {"projection", "o_proj,dense"},
       {"mlp", "gate_proj,up_proj,down_proj,gate_up_proj,dense_h_to_4h,dense_4h_to_h,fc1,fc2"},
       {"head", "lm_head"}}};
  const auto* const row = std::ranges::find(kWords, name, &Word::word);
  return row == kWords.end() ? name : std::string(row->targets);
}

// A variant of LoRA is another method.
std::string method_of(const JsonValue& object, const std::string& method) {
  const JsonValue* dora = object.find("use_dora");
  if (dora && dora->boolean().value_or(false)) return "dora";
  return method == "full-finetuning" ? "full" : method;
}

std::string targets_of(const JsonValue& written) {
  if (const std::string* text = written.string()) return *text;
  std::vector<std::string> names;
  if (const auto* list = written.list()) {
    for (const JsonValue& one : *list) {
      if (const std::string* name = one.string()) names.push_back(projection_of(*name));
    }
  }
  return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace

void take_finetune(const JsonValue& object, MeasuredRun& run) {
  if (const JsonValue* method = object.find("method"); method && method->string())
    run.finetune = method_of(object, *method->string());
  if (const JsonValue* rank = object.find("rank"); rank && !run.lora_rank)
    run.lora_rank = rank->integer();
  if (const JsonValue* targets = object.find("targets"); targets && run.lora_targets.empty())
    run.lora_targets = targets_of(*targets);
  if (const JsonValue* quant = object.find("quant"); quant && quant->string())
    run.quantize = form_of(*quant->string());
}

}  // namespace plimsoll
