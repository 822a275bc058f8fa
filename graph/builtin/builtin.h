// The models that travel inside the binary: configs (graph/builtin/*.json) and ONNX skeletons of
// torchvision's and timm's networks (graph/builtin/torchvision, graph/builtin/timm), without
// weights. To add one, add its file; a test asks for its published number of parameters.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"

namespace plimsoll {

enum class BuiltinKind : uint8_t { kJson, kOnnx };

struct BuiltinModel {
  std::string name;
  BuiltinKind kind = BuiltinKind::kJson;
  std::string content;           // of a config
  std::vector<std::byte> bytes;  // of an ONNX model
  int64_t image = 224;           // side of the images it was published for, where any will do
  std::string description;
  std::string source;  // where its numbers come from
  // What an alias asks for: settings of the model's parameters, which the user's own replace.
  std::map<std::string, std::string, std::less<>> settings;
  // The published configuration that an alias stands for ("hf:NAME"), whose file is elsewhere.
  std::string published{};
};

// A model by its name, or by one of the names that measured runs give it (aliases.json:
// "resnet-50", "timm/vgg11", "torchvision/resnet34"). E150 where there is none, with the nearest
// name.
Result<BuiltinModel> find_builtin(std::string_view name);

// The model or alias whose name is nearest, itself if it is one; empty where none is near.
std::string nearest_builtin(std::string_view name);

struct BuiltinRow {
  std::string name;
  std::string description;
};
// All models, sorted by name.
std::vector<BuiltinRow> builtin_models();

// Other names, and the model each stands for. Sorted.
std::vector<std::pair<std::string, std::string>> builtin_aliases();

}  // namespace plimsoll
