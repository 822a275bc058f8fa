#include "graph/family/head.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/family/family_file.h"

namespace plimsoll {

namespace {

constexpr std::string_view kHead = "head";

// "ForCausalLM" of "LlamaForCausalLM", "Model" of "LlamaModel"; the whole of any other name.
std::string_view end_of_class(std::string_view name) {
  const size_t at = name.rfind("For");
  if (at != name.npos && at + 3 < name.size() && name[at + 3] >= 'A' && name[at + 3] <= 'Z')
    return name.substr(at);
  for (const std::string_view end : {"LMHeadModel", "Model"}) {
    if (name.ends_with(end)) return end;
  }
  return name;
}

// Scores over a vocabulary, whatever a release or a fork calls the class.
bool is_language_head(std::string_view end) {
  constexpr std::string_view kEnds[] = {"ForCausalLM", "LMHeadModel", "ForMaskedLM",
                                        "ForConditionalGeneration"};
  return std::ranges::count(kEnds, end) > 0;
}

std::string first_architecture(const JsonValue& config) {
  const JsonValue* const all = config.find("architectures");
  const JsonValue::List* const list = all ? all->list() : nullptr;
  return list && !list->empty() && list->front().string() ? *list->front().string() : std::string();
}

const JsonValue* heads_of(const JsonValue& family, const JsonValue& common) {
  if (const JsonValue* heads = family.find("heads")) return heads;
  const JsonValue* shared = common.find("heads");
  const std::string name = text_at(family, "class");
  const std::string_view end = end_of_class(name);
  return shared ? shared->find(end == "LMHeadModel" ? "ForCausalLM" : end) : nullptr;
}

constexpr std::string_view kKeys = "keys", kParameters = "parameters";

void replace_head(JsonValue& family, const JsonValue& heads, const JsonValue& head) {
  JsonValue& model = *json_member(family, "model");
  if (const JsonValue* keys = heads.find(kKeys)) put_over(*json_member(family, kKeys), *keys);
  if (const JsonValue* parameters = heads.find(kParameters))
    put_over(*json_member(model, kParameters), *parameters);
  JsonValue& layers = *json_member(model, "layers");
  auto& list = std::get<JsonValue::List>(layers.data);
  list.erase(list.begin() + 1, list.end());
  const JsonValue* const added = head.find("layers");
  if (added && added->list()) list.insert(list.end(), added->list()->begin(), added->list()->end());
  if (const JsonValue* loss = head.find("loss")) *json_member(model, "loss") = *loss;
  if (const JsonValue* inputs = head.find("inputs")) *json_member(model, "inputs") = *inputs;
  for (const char* key : {"lora_saved", "lora_head"}) {
    if (const JsonValue* adapters = head.find(key))
      put_over(
          family,
          JsonValue{.line = 0, .column = 0, .data = JsonValue::Members{{key, 0, 0, *adapters}}});
  }
}

}  // namespace

Result<void> put_head(JsonValue& family, const JsonValue& common, const JsonValue& config,
                      const Place& place, config::Settings& set, Diagnostics& warnings) {
  const std::string class_name = text_at(family, "class");
  const std::string_view usual = end_of_class(class_name);
  const auto chosen = set.find(std::string(kHead));
  const std::string named = chosen != set.end() ? chosen->second : first_architecture(config);
  const std::string_view wanted = end_of_class(named);
  const bool is_chosen = chosen != set.end();
  if (is_chosen) set.erase(chosen);
  const JsonValue* const heads = heads_of(family, common);
  const JsonValue* const head = heads ? heads->find(wanted) : nullptr;
  if (named.empty() || wanted == usual ||
      (!head && is_language_head(wanted) && is_language_head(usual)))
    return {};
  if (head) {
    replace_head(family, *heads, *head);
    return {};
  }
  if (!is_chosen) {
    warnings.push_back(
        warning("W361",
                fmt::format("the answer is for {}; Plimsoll does not know what {} adds "
                            "or leaves out",
                            class_name, shortened(named)),
                place));
    return {};
  }
  std::vector<std::string> known = {std::string(usual)};
  if (heads && heads->members()) {
    for (const JsonMember& one : *heads->members()) {
      if (one.key != kKeys && one.key != kParameters) known.push_back(one.key);
    }
  }
  return error(
      "E134",
      fmt::format("{}: this model has no head '{}'", setting_entry("set", kHead), shortened(named)),
      place, fmt::format("it has: {}", fmt::join(known, ", ")));
}

}  // namespace plimsoll
