// What an ONNX file says, in the file's own terms and without its weights. Graphs lie side by side
// and refer to each other by index, so that nothing here is as deep as its input.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/exporter/module_name.h"
#include "graph/ir/attributes.h"
#include "graph/ir/graph.h"

namespace plimsoll::onnx {

using GraphIndex = uint32_t;

// A TensorProto: an initializer, or a tensor that is an attribute.
struct TensorSpec {
  std::string name;
  int64_t data_type = 0;
  std::vector<int64_t> dims;
  std::shared_ptr<const Contents> contents;  // where small, whole and of a type we can read
  bool lacks_data = false;                   // the file holds fewer bytes than the dims announce
  bool odd_location = false;                 // external data that leaves the model's folder
  bool odd_entry = false;                    // or has keys or numbers ONNX does not
};

struct DimSpec {
  enum class Kind : uint8_t { kUnknown, kValue, kParameter } kind = Kind::kUnknown;
  int64_t value = 0;
  std::string parameter;
};

// A ValueInfoProto: an input or output of a graph.
struct ValueSpec {
  std::string name;
  std::string kind;  // "tensor", "sequence", "map", "optional", ...; empty where untyped
  int64_t element_type = 0;
  bool has_shape = false;
  std::vector<DimSpec> dims;
};

// What only some nodes have.
struct NodeExtras {
  std::string overload;
  std::vector<std::pair<std::string, TensorSpec>> tensors;      // attributes that are tensors
  std::vector<std::pair<std::string, GraphIndex>> graphs;       // and graphs
  std::vector<std::pair<std::string, std::string>> references;  // and names of a function's own

  // Null where the node has no such graph.
  const GraphIndex* graph(std::string_view name) const;
};

struct NodeSpec {
  std::string op, domain, name, module;
  std::vector<std::string> inputs, outputs;
  Attributes attributes;
  NodeNotes notes;  // what the metadata says
  std::unique_ptr<NodeExtras> extras;
};

struct GraphSpec {
  std::string name;
  std::vector<NodeSpec> nodes;
  std::vector<TensorSpec> initializers;
  std::vector<ValueSpec> inputs, outputs;
  ModuleSignature signature;  // empty where the exporter wrote none
  int64_t depth = 0;
};

struct FunctionSpec {
  std::string domain, name, overload;
  NodeSpec defaults;  // its attributes where a call does not set them
  GraphIndex body = 0;
};

struct ModelSpec {
  int64_t ir_version = 0;
  std::string producer_name, producer_version;
  std::vector<std::pair<std::string, int64_t>> opsets;  // domain, version
  std::vector<GraphSpec> graphs;                        // the first is the model's
  bool has_graph = false;
  std::vector<FunctionSpec> functions;
  bool has_training_info = false;
};

}  // namespace plimsoll::onnx
