// The JSON Schema of model configs, written from the layer types' rows.
#include <fmt/format.h>

#include <algorithm>

#include "graph/config/layer_type.h"
#include "graph/config/model_config.h"

namespace plimsoll {
namespace {

using config::Key;
using config::KeyKind;
using config::LayerType;

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string choices(std::string_view words) {
  std::string out;
  for (size_t start = 0; start <= words.size();) {
    const size_t end = std::min(words.find('|', start), words.size());
    out += (out.empty() ? "" : ", ") + json_quoted(words.substr(start, end - start));
    start = end + 1;
  }
  return "[" + out + "]";
}

std::string kind_text(const Key& key) {
  switch (key.kind) {
    case KeyKind::kExtent:
    case KeyKind::kInteger:
      return R"("$ref": "#/$defs/count")";
    case KeyKind::kIntegers:
      return R"("anyOf": [{"$ref": "#/$defs/count"}, {"$ref": "#/$defs/counts"}])";
    case KeyKind::kShape:
      return R"("$ref": "#/$defs/counts")";
    case KeyKind::kReal:
    case KeyKind::kRate:
      return R"("type": ["number", "string"])";
    case KeyKind::kFlag:
      return R"("type": ["boolean", "string"])";
    case KeyKind::kChoice:
      return R"("enum": )" + choices(key.choices);
    case KeyKind::kName:
      return R"("type": "string")";
    case KeyKind::kLayers:
      return R"("$ref": "#/$defs/layers")";
    case KeyKind::kObject:
      return R"("type": "object")";
    case KeyKind::kList:
      return R"("type": ["array", "string"])";
  }
  return {};
}

std::string key_text(const Key& key) {
  const bool shown = key.otherwise != config::kRequired && key.otherwise != config::kOptional;
  return fmt::format(R"({}: {{{}, "description": {}}})", json_quoted(key.name), kind_text(key),
                     json_quoted(shown ? fmt::format("{} (default {})", key.says, key.otherwise)
                                       : std::string(key.says)));
}

std::string layer_text(const LayerType& type) {
  std::string keys;
  std::string required = R"("type")";
  for (const Key& key : type.keys) {
    keys += ",\n        " + key_text(key);
    if (key.otherwise == config::kRequired) required += ", " + json_quoted(key.name);
  }
  return fmt::format(R"(      {{"description": {}, "required": [{}], "additionalProperties": false,
       "properties": {{
        "type": {{"const": {}}}, "name": {{"$ref": "#/$defs/name"}},
        "input": {{"type": "string"}}, "inputs": {{"$ref": "#/$defs/names"}},
        "when": {{"$ref": "#/$defs/count", "description": "where it is 0 the layer is left out, and its input goes on"}},
        "loop": {{"type": "string", "description": "the parameter over which the program loops around it"}},
        "host_ns": {{"$ref": "#/$defs/count", "description": "what it does on the host in a forward pass while the device waits, as proposals of a detector: nanoseconds of one thread of a 3.7 GHz Skylake"}}{}}}}})",
                     json_quoted(type.says), required, json_quoted(type.name), keys);
}

constexpr std::string_view kHead = R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Plimsoll model config",
  "type": "object", "required": ["schema", "name"], "additionalProperties": false,
  "properties": {
    "schema": {"const": "plimsoll.model-config"}, "version": {"const": 1},
    "name": {"type": "string"}, "description": {"type": "string"}, "sources": {"$ref": "#/$defs/names"},
    "parameters": {"type": "object", "description": "defaults of hyper-parameters: a whole number, an expression over earlier ones, a number, a list of whole numbers, or words to choose from",
      "additionalProperties": {"anyOf": [{"type": ["number", "string"]}, {"type": "array", "items": {"type": "integer"}},
        {"type": "object", "required": ["one_of"], "properties": {"one_of": {"$ref": "#/$defs/names"}}, "additionalProperties": false}]}},
    "meta": {"type": "object", "additionalProperties": false, "properties": {
      "unit": {"type": "string", "description": "what throughput counts: images, tokens"},
      "units_per_sample": {"$ref": "#/$defs/count"},
      "longest": {"type": "object", "description": "parameters' values in the largest batch, where batches differ: memory is read there", "additionalProperties": {"type": "integer", "minimum": 1}},
      "recipe": {"type": "object", "description": "how its sources trained it: --recipe published", "required": ["optimizer", "source"], "additionalProperties": false,
        "properties": {"optimizer": {"type": "string"}, "weight_decay": {"type": "boolean"}, "source": {"type": "string"}}},
      "dataset": {"type": "object", "required": ["name", "samples"], "additionalProperties": false,
        "properties": {"name": {"type": "string"}, "samples": {"type": "integer", "minimum": 1}}}}},
    "blocks": {"type": "object", "additionalProperties": {"type": "object", "required": ["layers"], "additionalProperties": false,
      "properties": {"description": {"type": "string"}, "inputs": {"$ref": "#/$defs/names"},
        "parameters": {"type": "object", "description": "defaults; null where the use must give a value"},
        "layers": {"$ref": "#/$defs/layers"}}}},
    "inputs": {"$ref": "#/$defs/inputs"}, "layers": {"$ref": "#/$defs/layers"},
    "outputs": {"$ref": "#/$defs/names"}, "loss": {"$ref": "#/$defs/loss"},
    "networks": {"type": "object", "additionalProperties": {"type": "object", "required": ["inputs", "layers"], "additionalProperties": false,
      "properties": {"inputs": {"$ref": "#/$defs/inputs"}, "layers": {"$ref": "#/$defs/layers"},
        "outputs": {"$ref": "#/$defs/names"}, "loss": {"$ref": "#/$defs/loss"}}}},
    "schedule": {"type": "array", "description": "the phases of one training step, where there are several networks",
      "items": {"type": "object", "required": ["train"], "additionalProperties": false, "properties": {
        "train": {"type": "string"}, "forward_only": {"$ref": "#/$defs/names"}, "through": {"$ref": "#/$defs/names"},
        "passes": {"$ref": "#/$defs/count"}, "repeat": {"$ref": "#/$defs/count"}, "gradient_penalty": {"type": "boolean"}}}}
  },
  "oneOf": [{"required": ["inputs", "layers"]}, {"required": ["networks", "schedule"]}],
  "$defs": {
    "name": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$"},
    "names": {"type": "array", "items": {"type": "string"}},
    "count": {"description": "a whole number, or an expression over the parameters", "type": ["integer", "string"]},
    "counts": {"type": ["array", "string"], "items": {"$ref": "#/$defs/count"}},
    "inputs": {"type": "array", "items": {"type": "object", "required": ["name", "shape"], "additionalProperties": false,
      "properties": {"name": {"$ref": "#/$defs/name"}, "dtype": {"type": "string"}, "shape": {"$ref": "#/$defs/counts"}}}},
    "loss_kind": {"enum": ["cross_entropy", "mse", "bce", "sum", "ctc", "causal_lm", "none"]},
    "loss": {"anyOf": [{"$ref": "#/$defs/loss_kind"}, {"type": "array", "items": {"type": "object", "required": ["type", "output"],
      "additionalProperties": false, "properties": {"type": {"$ref": "#/$defs/loss_kind"}, "output": {"type": "string"},
        "when": {"$ref": "#/$defs/count", "description": "where it is 0 this loss is left out"}}}}]},
    "layers": {"type": "array", "items": {"$ref": "#/$defs/layer"}},
    "layer": {"type": "object", "required": ["type"], "anyOf": [
)";

// A layer whose type is a parameter's word has no keys but these.
constexpr std::string_view kTail = R"(,
      {"description": "a layer whose type is the word a parameter stands for", "required": ["type"], "additionalProperties": false,
       "properties": {
        "type": {"type": "string"}, "name": {"$ref": "#/$defs/name"},
        "input": {"type": "string"}, "inputs": {"$ref": "#/$defs/names"}}}
    ]}
  }
}
)";

}  // namespace

std::string model_config_schema() {
  std::string layers;
  for (const LayerType* type : config::all_layer_types()) {
    layers += (layers.empty() ? "" : ",\n") + layer_text(*type);
  }
  return std::string(kHead) + layers + std::string(kTail);
}

}  // namespace plimsoll
