// A model as it was read: networks, a schedule and facts about the data.
#pragma once

#include <cstdint>
#include <string>

#include "graph/config/model_config.h"

namespace plimsoll {

struct InputFacts {
  std::string model;   // as the user named it
  std::string path;    // of the file, empty for a built-in
  std::string sha256;  // empty where it was not computed
  int64_t batch = 0;
  Binding symbols;
};

struct LoadedModel {
  InputFacts facts;
  ModelConfig config;      // one network and no schedule for an ONNX file
  bool from_onnx = false;  // shapes are not inferred yet
  bool builtin = false;
  Diagnostics warnings;
};

}  // namespace plimsoll
