// The text of a vision-language model's config (LLaVA, Gemma 3, Qwen2.5-VL, ...), as the config of
// a model by itself.
#pragma once

#include <optional>

#include "graph/json/value.h"

namespace plimsoll {

// Whether the config describes a tower for images and a model of text.
bool has_vision_tower(const JsonValue& config);

// `text_config`, or, in older forms, all but `vision_config`; with the weights' type and
// the tied embeddings of the whole where the part has none. Nothing where the config has no tower.
std::optional<JsonValue> text_part(const JsonValue& config);

}  // namespace plimsoll
