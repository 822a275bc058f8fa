#include "graph/family/text_part.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace plimsoll {
namespace {

constexpr std::string_view kType = "model_type";

// Text models that only vision-language models have: theirs are the layers of another type, but for
// three rows of positions, which rotary tables are made of (transformers 5.24,
// models/qwen2_5_vl/modeling_qwen2_5_vl.py, models/qwen3_vl/modeling_qwen3_vl.py).
constexpr std::pair<std::string_view, std::string_view> kAlike[] = {
    {"qwen2_vl_text", "qwen2"}, {"qwen2_vl", "qwen2"},      {"qwen2_5_vl_text", "qwen2"},
    {"qwen2_5_vl", "qwen2"},    {"qwen3_vl_text", "qwen3"}, {"qwen3_vl_moe_text", "qwen3_moe"},
};

JsonValue text_value(std::string_view text) {
  return {.line = 0, .column = 0, .data = std::string(text)};
}

bool is_of_images(std::string_view key) {
  return key.starts_with("vision_") || key.starts_with("image_") || key.starts_with("video_");
}

// The part's own key stands.
void inherit(JsonValue::Members& part, const JsonValue& whole, std::string_view key) {
  const JsonValue* const value = whole.find(key);
  if (value && std::ranges::find(part, key, &JsonMember::key) == part.end())
    part.push_back({std::string(key), value->line, value->column, *value});
}

void name_layers(JsonValue::Members& part) {
  const auto type = std::ranges::find(part, kType, &JsonMember::key);
  if (type == part.end() || !type->value.string()) return;
  const auto* const alike = std::ranges::find(
      kAlike, *type->value.string(), &std::pair<std::string_view, std::string_view>::first);
  if (alike != std::end(kAlike)) type->value = text_value(alike->second);
}

}  // namespace

bool has_vision_tower(const JsonValue& config) {
  const JsonValue* const vision = config.find("vision_config");
  return vision && vision->members();
}

std::optional<JsonValue> text_part(const JsonValue& config) {
  if (!has_vision_tower(config)) return std::nullopt;
  const JsonValue* const text = config.find("text_config");
  JsonValue::Members part;
  if (text && text->members()) {
    part = *text->members();
    for (const std::string_view key : {"torch_dtype", "dtype", "tie_word_embeddings"})
      inherit(part, config, key);
  } else {
    std::ranges::copy_if(*config.members(), std::back_inserter(part),
                         [](const JsonMember& m) { return !is_of_images(m.key); });
  }
  name_layers(part);
  return JsonValue{.line = config.line, .column = config.column, .data = std::move(part)};
}

}  // namespace plimsoll
