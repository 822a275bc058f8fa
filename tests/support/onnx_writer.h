// Writes ONNX files for tests: protobuf's wire format by hand, and the few messages tests need.
// Field numbers as in onnx.proto.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/byte_source.h"

namespace plimsoll::test {

// A protobuf message under construction.
class Proto {
 public:
  Proto& number(uint32_t field, int64_t value) {
    tag(field, 0);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  Proto& text(uint32_t field, std::string_view value) {
    tag(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Proto& message(uint32_t field, const Proto& value) { return text(field, value.bytes_); }
  Proto& real(uint32_t field, float value) {
    tag(field, 5);
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int i = 0; i < 4; ++i) bytes_ += static_cast<char>(bits >> (8 * i));
    return *this;
  }
  Proto& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  // A length without what it announces.
  Proto& length(uint32_t field, uint64_t value) {
    tag(field, 2);
    varint(value);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void tag(uint32_t field, uint32_t type) { varint((uint64_t{field} << 3) | type); }
  void varint(uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value | 128);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

inline Proto tensor(std::string_view name, int64_t data_type, const std::vector<int64_t>& dims) {
  Proto out;
  for (const int64_t dim : dims) out.number(1, dim);
  return out.number(2, data_type).text(8, name);
}
inline Proto integers(std::string_view name, const std::vector<int64_t>& dims,
                      const std::vector<int64_t>& values) {
  Proto out = tensor(name, 7, dims);
  for (const int64_t value : values) out.number(7, value);
  return out;
}
inline Proto external(Proto tensor, std::string_view location) {
  return tensor.message(13, Proto().text(1, "location").text(2, location)).number(14, 1);
}

// An extent: a number, a name, or unknown where it is empty.
struct Extent {
  Extent(int64_t number) : proto(Proto().number(1, number)) {}                  // NOLINT
  Extent(int number) : Extent(static_cast<int64_t>(number)) {}                  // NOLINT
  Extent(const char* name) : proto(*name ? Proto().text(2, name) : Proto()) {}  // NOLINT
  Proto proto;
};
inline Proto value(std::string_view name, std::initializer_list<Extent> shape, int64_t type = 1) {
  Proto dims;
  for (const Extent& extent : shape) dims.message(1, extent.proto);
  return Proto().text(1, name).message(
      2, Proto().message(1, Proto().number(1, type).message(2, dims)));
}
inline Proto untyped(std::string_view name) { return Proto().text(1, name); }

inline Proto attribute(std::string_view name, int64_t value) {
  return Proto().text(1, name).number(3, value).number(20, 2);
}
inline Proto attribute(std::string_view name, const std::vector<int64_t>& values) {
  Proto out = Proto().text(1, name);
  for (const int64_t value : values) out.number(8, value);
  return out.number(20, 7);
}
inline Proto tensor_attribute(std::string_view name, const Proto& tensor) {
  return Proto().text(1, name).message(5, tensor).number(20, 4);
}
inline Proto graph_attribute(std::string_view name, const Proto& graph) {
  return Proto().text(1, name).message(6, graph).number(20, 5);
}
inline Proto reference(std::string_view name, std::string_view of, int64_t type) {
  return Proto().text(1, name).text(21, of).number(20, type);
}

using Names = std::initializer_list<std::string_view>;
inline Proto node(std::string_view op, Names inputs, Names outputs,
                  std::initializer_list<Proto> attributes = {}, std::string_view name = {},
                  std::string_view domain = {}) {
  Proto out;
  for (const std::string_view input : inputs) out.text(1, input);
  for (const std::string_view output : outputs) out.text(2, output);
  if (!name.empty()) out.text(3, name);
  out.text(4, op);
  for (const Proto& attribute : attributes) out.message(5, attribute);
  if (!domain.empty()) out.text(7, domain);
  return out;
}
inline Proto constant(std::string_view output, const Proto& value) {
  return node("Constant", {}, {output}, {tensor_attribute("value", value)});
}

struct GraphParts {
  std::vector<Proto> nodes, initializers, inputs, outputs;
};
inline Proto graph(const GraphParts& parts, std::string_view name = "g") {
  Proto out;
  for (const Proto& node : parts.nodes) out.message(1, node);
  out.text(2, name);
  for (const Proto& initializer : parts.initializers) out.message(5, initializer);
  for (const Proto& input : parts.inputs) out.message(11, input);
  for (const Proto& output : parts.outputs) out.message(12, output);
  return out;
}

inline Proto function(std::string_view domain, std::string_view name, Names inputs, Names outputs,
                      const std::vector<Proto>& nodes, Names attributes = {}) {
  Proto out = Proto().text(1, name);
  for (const std::string_view input : inputs) out.text(4, input);
  for (const std::string_view output : outputs) out.text(5, output);
  for (const std::string_view attribute : attributes) out.text(6, attribute);
  for (const Proto& node : nodes) out.message(7, node);
  return out.text(10, domain);
}

inline Proto model(const Proto& graph, int64_t opset = 17,
                   const std::vector<Proto>& functions = {}) {
  Proto out = Proto().number(1, 8).text(2, "test").text(3, "1.0").message(7, graph);
  out.message(8, Proto().text(1, "").number(2, opset));
  for (const Proto& function : functions) out.message(25, function);
  return out;
}

inline ByteSource source_of(std::string_view bytes) {
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  return ByteSource::of("m.onnx", {data, data + bytes.size()});
}
inline ByteSource source_of(const Proto& proto) { return source_of(proto.bytes()); }

// x[batch,8] -> Relu -> y: the smallest model with something in it.
inline GraphParts small_graph() {
  return {.nodes = {node("Relu", {"x"}, {"y"}, {}, "/act/Relu")},
          .initializers = {},
          .inputs = {value("x", {"batch", 8})},
          .outputs = {value("y", {"batch", 8})}};
}

}  // namespace plimsoll::test
