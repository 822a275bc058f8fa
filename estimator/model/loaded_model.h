// A model as it was read: networks, a schedule and facts about the data.
#pragma once

#include <cstdint>
#include <string>

#include "graph/config/model_config.h"
#include "graph/json/fields.h"

namespace plimsoll {

struct InputFacts {
  std::string model;   // as the user named it
  std::string path;    // of the file, empty for a built-in
  std::string sha256;  // empty where it was not computed
  int64_t batch = 0;
  Binding symbols;
};

inline void describe(Fields& f, InputFacts& input) {
  f("model", input.model);
  f("path", input.path, {.null_where = input.path.empty()});
  f("sha256", input.sha256, {.null_where = input.sha256.empty()});
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
  Diagnostics warnings;
};

}  // namespace plimsoll
