// A model as it was read: networks, a schedule and facts about the data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "graph/base/dtype.h"
#include "graph/config/model_config.h"
#include "graph/ir/adapter_names.h"
#include "graph/ir/finetune.h"
#include "graph/json/fields.h"
#include "graph/record/record.h"

namespace plimsoll {

struct InputFacts {
  std::string model;   // as the user named it
  std::string path;    // of the file, empty for a built-in
  std::string sha256;  // empty where it was not computed
  std::string family;  // of a Hugging Face config (graph/family); empty for other models
  int64_t batch = 0;
  Binding symbols;
};

inline void describe(Fields& f, InputFacts& input) {
  f("model", input.model);
  f("path", input.path, {.null_where = input.path.empty()});
  f("sha256", input.sha256, {.null_where = input.sha256.empty()});
  f("family", input.family,
    {.meaning = "of a Hugging Face config", .absent_where = input.family.empty()});
  f("batch", input.batch);
  f("symbols", input.symbols, {.any_sign = true});
}

// Without the file.
inline void describe_question(Fields& f, InputFacts& input) {
  f("model", input.model);
  f("batch", input.batch, {.low = 1});
  f("symbols", input.symbols, {.any_sign = true});
}

struct LoadedModel {
  InputFacts facts;
  ModelConfig config;      // one network and no schedule for an ONNX file
  bool from_onnx = false;  // shapes are not inferred yet
  bool builtin = false;
  DType dtype = DType::kUndefined;            // of its weights, as a Hugging Face config says
  AdapterNames lora;                          // of the family
  const QuantizationRow* quantize = nullptr;  // of the checkpoint that the config is of
  std::optional<int64_t> positions;           // that the config states
  std::optional<Finetune> adapters;           // of its folder's adapter_config.json
  std::shared_ptr<const Record> record;       // of a recorded step; its graph is the one network
  Diagnostics warnings;
};

}  // namespace plimsoll
