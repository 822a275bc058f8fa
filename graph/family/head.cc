#include "graph/family/head.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "graph/family/family_file.h"

namespace plimsoll {
namespace {

constexpr std::string_view kHead = "head", kFor = "For", kHalf = "EncoderModel",
                           kPreTraining = "PreTraining";

std::string text_at(const JsonValue& object, std::string_view key) {
  const JsonValue* const value = object.find(key);
  const std::string* const text = value ? value->string() : nullptr;
  return text ? *text : std::string();
}

// "SequenceClassification" of BertForSequenceClassification, "EncoderModel" of half a T5; empty of
// BertModel.
std::string task_of(std::string_view class_name) {
  if (class_name.ends_with(kHalf)) return std::string(kHalf);
  const size_t at = class_name.rfind(kFor);
  return at == std::string_view::npos ? std::string()
                                      : std::string(class_name.substr(at + kFor.size()));
}

// Of scores of words: one head by several names, in releases and in models of several parts.
bool is_of_words(std::string_view task) {
  constexpr std::string_view kTasks[] = {"", "CausalLM", "ConditionalGeneration", "MaskedLM"};
  return std::ranges::find(kTasks, task) != std::end(kTasks);
}

std::vector<std::string> class_names(const JsonValue& config) {
  std::vector<std::string> names;
  const JsonValue* const list = config.find("architectures");
  if (!list || !list->list()) return names;
  for (const JsonValue& one : *list->list()) {
    if (one.string()) names.push_back(*one.string());
  }
  return names;
}

// Those of a family's file, or those of all decoders.
const JsonValue* heads_of(const JsonValue& family, const JsonValue& common) {
  if (const JsonValue* const stated = family.find("heads")) return stated;
  const std::string name = text_at(family, "class");
  const bool decodes = name.ends_with("ForCausalLM") || name.ends_with("LMHeadModel");
  return decodes ? common.find("decoder_heads") : nullptr;
}

std::vector<std::string> names_of(const JsonValue* heads) {
  std::vector<std::string> names;
  if (heads && heads->members()) {
    for (const JsonMember& one : *heads->members()) names.push_back(one.key);
  }
  return names;
}

tl::unexpected<Diagnostics> no_head(const std::string& wanted, const JsonValue& family,
                                    std::vector<std::string> known, Place place) {
  for (std::string& one : known) one = setting_entry("set", kHead, one);
  const std::string family_class = text_at(family, "class");
  return error("E354",
               fmt::format("is a config of \"{}\", which is not supported", shortened(wanted)),
               std::move(place),
               fmt::format("without \"architectures\", the answer is for {}{}; in Python: "
                           "plimsoll.from_torch(lambda: {}(config), inputs)",
                           family_class,
                           known.empty() ? "" : fmt::format(", with {}", fmt::join(known, " or ")),
                           shortened(wanted)));
}

tl::unexpected<Diagnostics> unknown_setting(const std::vector<std::string>& known,
                                            const JsonValue& family, Place place) {
  const std::string others = known.empty() ? "" : fmt::format(", or {}", fmt::join(known, ", "));
  return error("E134",
               fmt::format("{}: the heads are {}'s{}", setting_entry("set", kHead),
                           text_at(family, "class"), others),
               std::move(place));
}

// The head's layers after the body's, and what else it says over what the family does.
void replace(JsonValue& family, const JsonValue& head) {
  JsonValue* const model = json_member(family, "model");
  JsonValue* const layers = model ? json_member(*model, "layers") : nullptr;
  auto* const list = layers ? std::get_if<JsonValue::List>(&layers->data) : nullptr;
  const JsonValue* const layers_after = head.find("layers");
  if (!list || !layers_after || !layers_after->list()) return;
  const std::string after = text_at(head, "after");
  const auto body = std::ranges::find_if(
      *list, [&](const JsonValue& l) { return after.empty() || text_at(l, "name") == after; });
  if (body == list->end()) return;
  list->erase(body + 1, list->end());
  list->insert(list->end(), layers_after->list()->begin(), layers_after->list()->end());
  std::erase_if(std::get<JsonValue::Members>(model->data),
                [](const JsonMember& m) { return m.key == "outputs"; });
  for (const char* key : {"parameters", "blocks"}) {
    JsonValue* const there = json_member(*model, key);
    const JsonValue* const more = head.find(key);
    if (there && more) put_over(*there, *more);
  }
  for (const JsonMember& one : *head.members()) {
    if (one.key == "loss" || one.key == "outputs")
      put_over(*model, JsonValue{.line = 0, .column = 0, .data = JsonValue::Members{one}});
  }
  // peft takes it for a linear layer as any: it is no output of words.
  const JsonValue yes{.line = 0, .column = 0, .data = true};
  put_over(family, JsonValue{.line = 0,
                             .column = 0,
                             .data = JsonValue::Members{JsonMember{"lora_head", 0, 0, yes}}});
  JsonValue* const keys = json_member(family, "keys");
  const JsonValue* const more = head.find("keys");
  if (keys && more) put_over(*keys, *more);
}

}  // namespace

Result<void> put_head(JsonValue& family, const JsonValue& common, const JsonValue& config,
                      std::string_view file_name, config::Settings& set, Diagnostics& warnings) {
  const std::string family_task = task_of(text_at(family, "class"));
  const std::vector<std::string> classes = class_names(config);
  std::string wanted = classes.empty() ? std::string() : classes.front(), task = task_of(wanted);
  const auto setting = set.find(std::string(kHead));
  const bool is_set = setting != set.end();
  if (is_set) {
    wanted = task = setting->second;
    set.erase(setting);
  }
  if (task == family_task || (task.empty() && !is_set)) return {};
  const Place place{.file = std::string(file_name), .line = config.line, .node = {}};
  const JsonValue* const heads = heads_of(family, common);
  if (const JsonValue* const head = heads ? heads->find(task) : nullptr) {
    const JsonValue chosen = *head;  // of `family`, which changes
    replace(family, chosen);
    return {};
  }
  if (is_set) return unknown_setting(names_of(heads), family, place);
  if (task != kPreTraining && !(is_of_words(task) && is_of_words(family_task)))
    return no_head(wanted, family, names_of(heads), place);
  // Checkpoints say how they were trained first; who loads one trains it as something else.
  if (task == kPreTraining) {
    warnings.push_back(warning("W357",
                               fmt::format("the config's class is {}; the answer is for {}",
                                           shortened(wanted), text_at(family, "class")),
                               place));
  }
  return {};
}

}  // namespace plimsoll
