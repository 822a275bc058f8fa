// The writing half of graph/ir/text.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "graph/base/among.h"
#include "graph/ir/text.h"
#include "graph/ir/text_reader.h"

namespace plimsoll {
namespace {

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out + "\"";
}

// The words that open a line, and the mark of what is omitted, are quoted as names.
constexpr std::array<std::string_view, 8> kReserved = {"_",     "opset", "baked", "default",
                                                       "input", "param", "const", "output"};

std::string name_text(std::string_view name) {
  const bool reserved = among(name, kReserved);
  const bool plain = !name.empty() && !reserved && name.back() != ':' &&
                     std::all_of(name.begin(), name.end(), [](char c) {
                       return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
                              c == '/' || c == ':' || c == '-';
                     });
  return plain ? std::string(name) : quote(name);
}

// A real that reads back as a real.
std::string number_text(double value) {
  std::string out = fmt::format("{}", value);
  const bool real = out.find_first_of(".en") != std::string::npos;
  return real ? out : out + ".0";
}
std::string number_text(int64_t value) { return fmt::format("{}", value); }
std::string number_text(const std::string& value) { return quote(value); }

template <class T>
std::string list_text(const std::vector<T>& values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) out += (i ? "," : "") + number_text(values[i]);
  return out + "]";
}
template <class T>
std::string value_text(const T& value) {
  return number_text(value);
}
template <class T>
std::string value_text(const std::vector<T>& values) {
  return list_text(values);
}

std::string declaration(const Graph& graph, TensorId id) {
  const Tensor& t = graph.tensors[id];
  const bool constant = t.kind == TensorKind::kParameter && t.contents;
  std::string out = t.kind == TensorKind::kInput ? "input" : constant ? "const" : "param";
  out += " " + name_text(t.name) + ": " + text({t.dtype, t.shape.value_or(Shape{})});
  if (t.buffer) out += " buffer";
  if (constant) {
    out += " = ";
    out += is_float(t.dtype) ? list_text(t.contents->reals) : list_text(t.contents->integers);
  }
  return out + "\n";
}

std::string tensor_text(const Graph& graph, TensorId id) {
  return id == kNoTensor ? "_" : name_text(graph.tensors[id].name);
}

std::string node_text(const Graph& graph, const Node& node) {
  std::string out, types;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    out += (i ? ", " : "") + tensor_text(graph, node.outputs[i]);
    if (node.outputs[i] == kNoTensor || !graph.tensors[node.outputs[i]].shape) continue;
    const Tensor& t = graph.tensors[node.outputs[i]];
    types += " " + text({t.dtype, *t.shape});
  }
  out += " = " + (node.domain.empty() ? "" : node.domain + ":") + node.op + "(";
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    out += (i ? ", " : "") + tensor_text(graph, node.inputs[i]);
  }
  out += ")";
  const auto& attributes = node.attributes.entries();
  for (size_t i = 0; i < attributes.size(); ++i) {
    out += (i ? ", " : " {") + attributes[i].first + "=" +
           std::visit([](const auto& v) { return value_text(v); }, attributes[i].second);
  }
  if (!attributes.empty()) out += "}";
  if (!node.name.empty()) out += " name=" + quote(node.name);
  if (!node.module.empty()) out += " module=" + quote(node.module);
  if (!node.notes.calls.empty()) out += " calls=" + quote(node.notes.calls);
  if (!node.notes.statements.empty()) out += " statements=" + quote(node.notes.statements);
  if (!node.notes.casts.empty()) out += " casts=" + quote(node.notes.casts);
  if (!node.notes.local_to.empty()) out += " local_to=" + quote(node.notes.local_to);
  if (node.notes.in_place != 0) out += fmt::format(" in_place={}", node.notes.in_place);
  for (const auto& [word, note] : notation::kNotes) {
    if (node.notes.*note) out += fmt::format(" {}", word);
  }
  if (!types.empty()) out += "  #" + types;
  return out + "\n";
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::string out;
  if (graph.opset > 0) out += fmt::format("opset {}\n", graph.opset);
  if (graph.baked_batch > 0) {
    out += fmt::format("baked {} as {}\n", graph.baked_batch, name_text(graph.batch_symbol));
  }
  for (const auto& [name, value] : graph.defaults) {
    out += fmt::format("default {} = {}\n", name_text(name), value);
  }
  for (const TensorId id : graph.inputs) out += declaration(graph, id);
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].kind == TensorKind::kParameter) out += declaration(graph, id);
  }
  for (const Node& node : graph.nodes) out += node_text(graph, node);
  for (const TensorId id : graph.outputs) out += "output " + tensor_text(graph, id) + "\n";
  return out;
}

}  // namespace plimsoll
