// Heads: what stands on a family's base model. A config's "architectures" says which of
// transformers' classes was built, such as Qwen3ForSequenceClassification; the family's layers are
// those of its "class". "heads" of the family, or of keys.json for all families of a class with the
// same end, has the others by the end of their name:
//
//   "heads": {"parameters": {"labels": 2}, "keys": {"num_labels": "labels"},
//             "ForTokenClassification": {
//                 "layers": [{"name": "classifier", "type": "linear", "out": "labels"}],
//                 "loss": "cross_entropy"}}
//
// A head's layers stand after the first layer of the model, which is the base; "inputs" where they
// are not the model's. Its parameters and keys are of all heads. "lora_saved" names the layers that
// peft trains whole beside its adapters (its modules_to_save for the task: peft 0.21,
// peft_model.py), "lora_head" is family.h's.
#pragma once

#include <string_view>

#include "graph/base/diagnostic.h"
#include "graph/config/parameters.h"
#include "graph/json/value.h"

namespace plimsoll {

// Puts the head in `family` that `set` names ("head", which it takes out), or that `config` says.
// E134 a head of `set` that the family has not; W361 a class of the config that it has not.
Result<void> put_head(JsonValue& family, const JsonValue& common, const JsonValue& config,
                      const Place& place, config::Settings& set, Diagnostics& warnings);

}  // namespace plimsoll
