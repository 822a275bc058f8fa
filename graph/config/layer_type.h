// What a layer type is: one row with its keys and its emitter. To add a type, write an emitter and
// add one row to one family file; decoding, defaults, "did you mean" and the JSON Schema follow
// from the row.
#pragma once

#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "graph/ir/graph.h"

namespace plimsoll::config {

class Layer;

enum class KeyKind : uint8_t {
  kExtent,      // a count that may stay symbolic: 64, "4*hidden"
  kInteger,     // a count that decides the structure
  kIntegers,    // the same, or a list of one per spatial axis
  kShape,       // a list of extents
  kReal,        // a number, or the name of a real parameter
  kRate,        // the same, from 0 to below 1
  kFlag,        // true or false
  kChoice,      // one of Key::choices
  kName,        // text
  kIdentifier,  // a name of its own: letters, digits, '_' and '-'
  kNames,       // a list of texts
  kLayers,      // a list of layers
  kObject,      // an object that the emitter decodes
  kList,        // a list that the emitter decodes
};

inline constexpr std::string_view kRequired = "required";
inline constexpr std::string_view kOptional = "";
inline constexpr int64_t kAnyInteger = std::numeric_limits<int64_t>::min();

struct Key {
  std::string_view name;
  KeyKind kind;
  std::string_view otherwise;  // kRequired, kOptional, or the default as it would be written
  std::string_view says;
  int64_t low = 1;                // of counts
  std::string_view choices = "";  // "none|tanh"
};

// Adds the layer's nodes and returns its outputs. After a fault the outputs are not used.
using Emit = std::vector<TensorId> (*)(Layer&);

struct LayerType {
  std::string_view name;
  size_t least_inputs = 1;
  size_t most_inputs = 1;
  std::span<const Key> keys;
  Emit emit = nullptr;
  std::string_view says;
};

// What every layer may have beside its type (layer_list.cc).
std::span<const Key> common_keys();

// The row of a type, or null; and all rows, sorted by name.
const LayerType* find_layer_type(std::string_view name);
std::span<const LayerType* const> all_layer_types();

// The families, one table per file.
std::span<const LayerType> convolution_layers();
std::span<const LayerType> pooling_layers();
std::span<const LayerType> norm_layers();
std::span<const LayerType> dense_layers();
std::span<const LayerType> attention_layers();
std::span<const LayerType> state_space_layers();
std::span<const LayerType> expert_layers();
std::span<const LayerType> rotary_layers();
std::span<const LayerType> pointwise_layers();
std::span<const LayerType> movement_layers();
std::span<const LayerType> structure_layers();
std::span<const LayerType> onnx_layers();

}  // namespace plimsoll::config
