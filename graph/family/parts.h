// Models of several parts, each with a config of its rest inside the whole's: a tower for images
// and a model of text, two towers. The whole's file says which:
//
//   "parts": {"vision": {"key": "vision_config", "model_type": "clip_vision_model",
//                        "defaults": {"inner": 4096}},
//             "text": {"key": "text_config", "model_type": "llama", "after": "embed_tokens",
//                      "under": "model.language_model"}}
//
// A part is a block of its name for the whole's layers, with its family's inputs and parameters;
// parameters that the whole has too are the whole's. Their defaults are the part's values, as is
// that of vision_hidden where the whole lists it. "model_type" and "defaults" hold where the config
// says nothing; "head" is the head (head.h) that a part has there. A part with "after" is no block
// but the model itself: the whole's layers stand in its first list, after the layer of that name,
// and its weights are called "under" that path. A setting of a part's parameter is named by both:
// vision_image. A config without an "optional" part has its text model alone, and nothing reads
// what else it says of the whole.
#pragma once

#include <string>
#include <string_view>

#include "graph/base/diagnostic.h"
#include "graph/config/parameters.h"
#include "graph/json/value.h"

namespace plimsoll {

struct WholeModel {
  JsonValue model;          // a model config
  config::Settings values;  // of its parameters, as the configs say
};

// The file of the family that serves a model type; empty: none does.
std::string family_file_of(std::string_view model_type);

// `family` is the whole's file, `common` that of keys of all families. Takes from `set` what is
// meant for a part. E354 a part of a type that no family serves; what config_values() says of each.
Result<WholeModel> put_together(const JsonValue& config, std::string_view file_name,
                                const JsonValue& family, const JsonValue& common,
                                config::Settings& set);

}  // namespace plimsoll
