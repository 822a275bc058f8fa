// Families: models of Hugging Face's transformers by their config.json. A family is one file of
// graph/builtin/families: which model types it serves, what each key of a config sets, and a model
// config (graph/config/model_config.h) whose parameters have the defaults of its class.
//
//   {"schema": "plimsoll.family", "version": 1, "model_types": ["llama"], "class":
//   "LlamaForCausalLM",
//    "keys": {"hidden_size": "hidden",
//             "hidden_act": {"sets": "activation", "words": "activations"},
//             "layer_types": {"sets": "sliding", "words": {"full_attention": 0,
//                                                          "sliding_attention": 1}},
//             "sliding_window": {"sets": "window", "null": 0},
//             "rotary_pct": {"sets": "rotary", "times": 1000},
//             "width_coefficient": {"sets": "width", "times": 1000, "most": 10},
//             "image_size": {"sets": "image", "square": true},
//             "hybrid_override_pattern": {"sets": "kinds", "letters": {"M": 1, "*": 0}},
//             "attn_logit_softcapping": {"sets": "softcap", "null": 0, "is": 1},
//             "use_sliding_window": {"only": [false]},
//             "id2label": {"sets": "labels", "members": true},
//             "per_layer_config": {"each": {"head_dim": "whole_size"}}},
//    "model": {"parameters": {...}, "layers": [...]}}
//
// Where peft puts adapters: "lora_targets" by default; "lora_stacked", names of layers of older
// releases, with the parameters that hold them now; "lora_head": true, for the classifier too;
// "lora_unused", layers whose weights other code reads, where an adapter never runs.
//
// What a user must know of every answer: "note", a warning (W357). "heads": graph/family/head.h.
//
// A part of a whole may have "keys" of its own beside its family's.
//
// A family that is "like" another has that one's layers: its "keys" and "defaults" (of parameters)
// stand before those. "each" has rows for the keys of an object's members, "members" counts them.
// A key that is null is as if it were not there, unless the family says what null means. Keys that
// change neither memory nor time stand in keys.json, for all families. What a config says beyond is
// refused by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/dtype.h"
#include "graph/config/model_config.h"
#include "graph/ir/adapter_names.h"
#include "graph/ir/finetune.h"

namespace plimsoll {

struct FamilyRow {
  std::string name;                      // of its file
  std::vector<std::string> model_types;  // as configs say
  std::string class_name;                // of transformers, whose code it follows
  std::string description;
};

// All families, by name.
std::vector<FamilyRow> families();

struct FamilyModel {
  ModelConfig config;
  std::string family;
  DType dtype =
      DType::kUndefined;  // of the weights, as the config says; undefined where it does not
  AdapterNames lora;      // as peft has them for the model type
  const QuantizationRow* quantize = nullptr;  // of its checkpoint's matrices; null: none
  std::optional<int64_t> positions;           // stated_positions() of the config
};

// Is this text a config of transformers (an object with "model_type", and no schema of ours), or
// one of diffusers ("_class_name") that a family serves?
bool is_transformers_config(const JsonValue& root);

// The network that a config describes. E354 a model type that no family serves, with the nearest;
// E355 a key that nothing reads; E356 a value that the family cannot take; what load_model_config()
// says of the rest. `options.set` stands before what the config says; its "part" = "text" asks for
// the text model of a vision-language model (W355; E134 for another part, or where there are none),
// and its "head" for the class of transformers that ends so (put_head()).
Result<FamilyModel> load_family_model(const JsonValue& root, std::string_view file_name,
                                      const ConfigOptions& options, Diagnostics& warnings);

// Published configurations that travel in the binary ("Qwen/Qwen3-8B"), and the file of one, whose
// "config" it is: E150
// where there is none of that name, with the nearest. Letters count in any case; the owner may be
// left out.
std::vector<std::string> published_models();
Result<std::string> published_config(std::string_view name);

}  // namespace plimsoll
