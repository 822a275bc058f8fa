// ValueInfoProto: the type of an input or output of a graph.
#include "graph/onnx/decode.h"

namespace plimsoll::onnx {
namespace {

DimSpec dimension(Message message) {
  DimSpec dim;
  for (Field field; message.next(field);) {
    if (field.number == 1) {
      dim = {DimSpec::Kind::kValue, message.integer(field, "dim_value"), {}};
    } else if (field.number == 2) {
      dim = {DimSpec::Kind::kParameter, 0, message.text(field, "dim_param")};
    }
  }
  if (dim.kind == DimSpec::Kind::kParameter && dim.parameter.empty()) dim = {};
  return dim;
}

void shape(Wire& wire, Message message, ValueSpec& value) {
  value.has_shape = true;
  for (Field field; message.next(field);) {
    if (field.number != 1) continue;
    if (static_cast<int64_t>(value.dims.size()) >= wire.limits().rank) {
      return wire.fail(
          over_limit(wire.limits(), "rank", {.file = {}, .node = message.describe()}).value());
    }
    value.dims.push_back(dimension(message.inside(field, "dim")));
  }
}

void value_type(Wire& wire, Message message, ValueSpec& value) {
  for (Field field; message.next(field);) {
    switch (field.number) {
      case 1: {
        value.kind = "tensor";
        Message tensor = message.inside(field, "tensor_type");
        for (Field inner; tensor.next(inner);) {
          if (inner.number == 1) value.element_type = tensor.integer(inner, "elem_type");
          if (inner.number == 2) shape(wire, tensor.inside(inner, "shape"), value);
        }
        break;
      }
      case 4:
        value.kind = "sequence";
        break;
      case 5:
        value.kind = "map";
        break;
      case 7:
        value.kind = "opaque";
        break;
      case 8:
        value.kind = "sparse tensor";
        break;
      case 9:
        value.kind = "optional";
        break;
      default:
        break;
    }
  }
}

}  // namespace

ValueSpec decode_value(Wire& wire, Message message) {
  ValueSpec read;
  for (Field field; message.next(field);) {
    if (field.number == 1) read.name = message.text(field, "name");
    if (field.number == 2) value_type(wire, message.inside(field, "type"), read);
  }
  return read;
}

}  // namespace plimsoll::onnx
