// The fields of ONNX's messages: bytes to ModelSpec. Field numbers are those of onnx.proto (ONNX
// 1.17, onnx/onnx.proto); fields it does not need, or does not know, are passed over.
#pragma once

#include <functional>

#include "graph/onnx/model.h"
#include "graph/onnx/wire.h"

namespace plimsoll::onnx {

// Contents kept: shapes, indices and scales are small, weights are not.
inline constexpr size_t kKeptIntegers = 4096;
inline constexpr size_t kKeptReals = 64;

// The whole model. Beside the codes of Wire: E203 a file of another kind, E208 two graphs, E231 a
// negative extent, E249 an attribute given twice, E802, E803, E804, E811, E812, E813 for limits.
// Cost: one pass over the structure and another over the headers of nodes, both by windows; weights
// are not read.
Result<ModelSpec> decode_model(Wire& wire);

// Its parts. Failures stay in `wire`.
TensorSpec decode_tensor(Wire& wire, Message message);  // TensorProto
TensorSpec decode_sparse(Wire& wire, Message message);  // SparseTensorProto
ValueSpec decode_value(Wire& wire, Message message);    // ValueInfoProto
// AttributeProto. `graph` gets the bytes of a subgraph and returns its index.
struct WireAttribute {
  std::string name, reference;
  int64_t type = 0, seen = 0;  // AttributeProto.AttributeType: as said, and as held
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string> texts;
  std::vector<TensorSpec> tensors;
  std::vector<GraphIndex> graphs;
};
using GraphSink = std::function<GraphIndex(const Message& body)>;
WireAttribute decode_attribute(Wire& wire, Message message, const GraphSink& graph);
// All attributes of a node at once. E247 and E249, naming `owner`.
void keep_attributes(Wire& wire, const Message& owner, std::vector<WireAttribute> attributes,
                     NodeSpec& node);

}  // namespace plimsoll::onnx
