#include "graph/ir/text.h"

#include <fmt/format.h>

#include <unordered_map>

#include "graph/base/try.h"
#include "graph/ir/text_reader.h"

namespace plimsoll {

using notation::is_name_character;
using notation::read_attributes;
using notation::read_contents;
using notation::read_type;
using notation::Reader;

namespace {

// Builds a graph line by line.
class GraphReader {
 public:
  Result<void> line(std::string_view text, int number) {
    Reader in(text, number);
    if (in.at_end() || in.peek("#")) return {};
    if (in.take_keyword("opset")) {
      graph_.opset = in.integer();
    } else if (in.take_keyword("baked")) {
      graph_.baked_batch = in.integer();
      in.expect("as");
      graph_.batch_symbol = in.name();
    } else if (in.take_keyword("default")) {
      std::string name = in.name();
      in.expect("=");
      graph_.defaults[std::move(name)] = in.integer();
    } else if (in.take_keyword("input")) {
      declare(in, TensorKind::kInput, false);
    } else if (in.take_keyword("param")) {
      declare(in, TensorKind::kParameter, false);
    } else if (in.take_keyword("const")) {
      declare(in, TensorKind::kParameter, true);
    } else if (in.take_keyword("output")) {
      graph_.outputs.push_back(use(in));
    } else {
      node(in);
    }
    if (!in.failed() && !in.at_end() && !in.peek("#")) in.fail("expected the end of the line");
    if (in.failed()) return in.failure();
    return {};
  }
  Graph take() { return std::move(graph_); }

 private:
  TensorId define(Reader& in, Tensor tensor) {
    const auto [at, fresh] =
        names_.try_emplace(tensor.name, static_cast<TensorId>(graph_.tensors.size()));
    if (!fresh) in.fail(fmt::format("'{}' is defined twice", tensor.name));
    return fresh ? graph_.add_tensor(std::move(tensor)) : at->second;
  }

  TensorId use(Reader& in) {
    const std::string name = in.name();
    if (name == "_") return kNoTensor;
    const auto found = names_.find(name);
    if (found != names_.end()) return found->second;
    in.fail(fmt::format("'{}' is not defined above", name));
    return kNoTensor;
  }

  void declare(Reader& in, TensorKind kind, bool with_contents) {
    Tensor tensor;
    tensor.name = in.name();
    tensor.kind = kind;
    in.expect(":");
    TensorType type = read_type(in);
    tensor.dtype = type.dtype;
    tensor.shape = std::move(type.shape);
    tensor.buffer = in.take_keyword("buffer");
    if (with_contents) {
      in.expect("=");
      tensor.contents = read_contents(in, tensor.dtype);
    }
    if (in.failed()) return;
    const TensorId id = define(in, std::move(tensor));
    if (kind == TensorKind::kInput) graph_.inputs.push_back(id);
  }

  void node(Reader& in) {
    Node node;
    std::vector<std::string> outputs;
    do {
      outputs.push_back(in.name());
    } while (!in.failed() && in.take(","));
    in.expect("=");
    node.op = in.word(is_name_character, "an operator");
    if (const size_t colon = node.op.rfind(':'); colon != std::string::npos) {
      node.domain = node.op.substr(0, colon);
      node.op = node.op.substr(colon + 1);
    }
    in.expect("(");
    if (!in.take(")")) {
      do {
        node.inputs.push_back(use(in));
      } while (!in.failed() && in.take(","));
      in.expect(")");
    }
    if (in.peek("{")) read_attributes(in, node.attributes);
    if (in.take("name=")) node.name = in.quoted();
    if (in.take("module=")) node.module = in.quoted();
    if (in.take("calls=")) node.notes.calls = in.quoted();
    if (in.take("statements=")) node.notes.statements = in.quoted();
    if (in.take("casts=")) node.notes.casts = in.quoted();
    if (in.take("local_to=")) node.notes.local_to = in.quoted();
    if (in.take("in_place=")) node.notes.in_place = static_cast<int>(in.integer());
    for (const auto& [word, note] : notation::kNotes) node.notes.*note = in.take_keyword(word);
    for (std::string& name : outputs) {
      Tensor tensor;
      tensor.name = std::move(name);
      const bool omitted = tensor.name == "_";
      node.outputs.push_back(omitted ? kNoTensor : define(in, std::move(tensor)));
    }
    if (!in.failed()) graph_.add_node(std::move(node));
  }

  Graph graph_;
  std::unordered_map<std::string, TensorId> names_;
};

}  // namespace

Result<Graph> parse_text(std::string_view text) {
  GraphReader reader;
  for (int number = 1; !text.empty(); ++number) {
    TRY(reader.line(notation::next_line(text), number));
  }
  return reader.take();
}

Result<Example> parse_example(std::string_view domain, std::string_view op, std::string_view text) {
  Example example;
  Graph& graph = example.graph;
  Node node;
  node.op = op;
  node.domain = domain;
  Reader in(text);
  while (!in.failed() && !in.peek("->") && !in.peek("{") && !in.at_end()) {
    if (in.take("_")) {
      node.inputs.push_back(kNoTensor);
      continue;
    }
    TensorType type = read_type(in);
    Tensor tensor;
    tensor.name = fmt::format("in{}", node.inputs.size());
    tensor.dtype = type.dtype;
    tensor.shape = std::move(type.shape);
    if (in.take("=")) tensor.contents = read_contents(in, tensor.dtype);
    tensor.kind = tensor.contents ? TensorKind::kParameter : TensorKind::kInput;
    const TensorId id = graph.add_tensor(std::move(tensor));
    if (graph.tensors[id].kind == TensorKind::kInput) graph.inputs.push_back(id);
    node.inputs.push_back(id);
  }
  if (in.peek("{")) read_attributes(in, node.attributes);
  graph.opset = node.attributes.integer("opset", 23);
  in.expect("->");
  while (!in.failed() && !in.at_end() && !in.peek("|")) {
    if (in.take("_")) {
      node.outputs.push_back(kNoTensor);
      example.outputs.emplace_back();
      example.contents.emplace_back();
      continue;
    }
    TensorType type = read_type(in);
    Tensor tensor;
    tensor.name = fmt::format("out{}", node.outputs.size());
    node.outputs.push_back(graph.add_tensor(std::move(tensor)));
    example.contents.push_back(in.take("=") ? read_contents(in, type.dtype) : nullptr);
    example.outputs.push_back(std::move(type));
  }
  if (in.take("|")) example.rest = in.rest();
  if (in.failed()) return in.failure();
  for (const TensorId out : node.outputs) {
    if (out != kNoTensor) graph.outputs.push_back(out);
  }
  graph.add_node(std::move(node));
  return example;
}

}  // namespace plimsoll
