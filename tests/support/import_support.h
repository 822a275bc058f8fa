// Shorthand for tests that import models.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "graph/onnx/import.h"
#include "tests/support/onnx_writer.h"

namespace plimsoll::test {

inline Proto graph_of(const GraphParts& parts) { return graph(parts); }

inline std::string codes(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& d : diagnostics) text += (text.empty() ? "" : " ") + d.code;
  return text;
}

// Control flow is decided at this batch.
inline ImportOptions at_batch(int64_t batch) {
  ImportOptions options;
  options.bind = [batch](const Graph&) -> Result<Binding> { return Binding{{"batch", batch}}; };
  return options;
}

// The graph of a model that must be sound.
inline Graph import(const Proto& model, const ImportOptions& options = {},
                    Diagnostics* warnings = nullptr) {
  Diagnostics ignored;
  auto graph = import_onnx(source_of(model), options, warnings ? *warnings : ignored);
  const std::string why = graph ? "" : graph.error()[0].code + " " + graph.error()[0].message;
  CAPTURE(why);
  REQUIRE(graph);
  return std::move(*graph);
}

// The first diagnostic of a model that must be refused.
inline Diagnostic refusal(std::string_view bytes, const ImportOptions& options = {}) {
  Diagnostics ignored;
  const auto graph = import_onnx(source_of(bytes), options, ignored);
  REQUIRE_FALSE(graph);
  REQUIRE(graph.error().size() == 1);
  return graph.error()[0];
}
inline Diagnostic refusal(const Proto& model, const ImportOptions& options = {}) {
  return refusal(model.bytes(), options);
}

inline const Tensor& find(const Graph& graph, std::string_view name) {
  for (const Tensor& t : graph.tensors) {
    if (t.name == name) return t;
  }
  static const Tensor kNone;
  CHECK_MESSAGE(false, "no tensor ", std::string(name));
  return kNone;
}

inline std::string shape_text(const Graph& graph, std::string_view name) {
  const Tensor& t = find(graph, name);
  return t.shape ? text(TensorType{t.dtype, *t.shape}) : "?";
}

// "Relu(x)->y Add(y,w)->z"
inline std::string nodes_text(const Graph& graph) {
  std::string out;
  const auto list = [&](const std::vector<TensorId>& ids) {
    std::string names;
    for (size_t i = 0; i < ids.size(); ++i) {
      names += (i ? "," : "") + (ids[i] == kNoTensor ? "-" : graph.tensors[ids[i]].name);
    }
    return names;
  };
  for (const Node& node : graph.nodes) {
    out +=
        (out.empty() ? "" : " ") + node.op + "(" + list(node.inputs) + ")->" + list(node.outputs);
  }
  return out;
}

// A batch of eight-element rows.
inline const std::vector<Proto> kInput = {value("x", {"batch", 8})};

inline Proto scalar(std::string_view name, int64_t number, int64_t type = 7) {
  return tensor(name, type, {}).number(type == 7 ? 7 : 5, number);
}

inline Proto model_of(const std::vector<Proto>& nodes, const std::vector<Proto>& functions = {},
                      const std::vector<Proto>& initializers = {}, int64_t opset = 17) {
  return model(graph_of({nodes, initializers, kInput, {untyped("y")}}), opset, functions);
}

}  // namespace plimsoll::test
