#include "graph/onnx/import.h"

#include <doctest/doctest.h>

#include "tests/support/import_support.h"

using namespace plimsoll;
using namespace plimsoll::test;

TEST_CASE("a small model comes in with its names, types and symbols") {
  const Graph graph = import(model(graph_of(small_graph())));
  CHECK(graph.producer == "test 1.0");
  CHECK(graph.opset == 17);
  REQUIRE(graph.nodes.size() == 1);
  CHECK(graph.nodes[0].op == "Relu");
  CHECK(graph.nodes[0].name == "/act/Relu");
  CHECK(graph.nodes[0].module == "act");
  REQUIRE(graph.inputs.size() == 1);
  CHECK(shape_text(graph, "x") == "f32[batch,8]");
  CHECK(graph.batch_symbol == "batch");
  CHECK(graph.baked_batch == 0);
  CHECK(graph.outputs == graph.nodes[0].outputs);
}

TEST_CASE("initializers are parameters; small ones keep their contents") {
  GraphParts parts = small_graph();
  parts.initializers = {integers("small", {3}, {1, -2, 3}),
                        tensor("weight", 1, {64, 3, 7, 7}),
                        tensor("raw", 6, {2}).text(9, {"\x01\0\0\0\xff\xff\xff\xff", 8}),
                        tensor("half", 10, {2}).text(9, {"\x00\x3c\x00\xc0", 4}),
                        tensor("packed", 1, {2}).text(4, {"\0\0\x80\x3f\0\0\0\x40", 8}),
                        tensor("scalar", 11, {}).text(9, {"\0\0\0\0\0\0\xe0\x3f", 8}),
                        tensor("none", 7, {0})};
  Diagnostics warnings;
  const Graph graph = import(model(graph_of(parts)), {}, &warnings);
  const auto contents = [&](const char* name) { return find(graph, name).contents; };
  CHECK(contents("small")->integers == std::vector<int64_t>{1, -2, 3});
  CHECK(contents("raw")->integers == std::vector<int64_t>{1, -1});
  CHECK(contents("half")->reals == std::vector<double>{1, -2});
  CHECK(contents("packed")->reals == std::vector<double>{1, 2});
  CHECK(contents("scalar")->reals == std::vector<double>{0.5});
  REQUIRE(contents("none"));
  CHECK(contents("none")->integers.empty());
  CHECK_FALSE(contents("weight"));
  CHECK(shape_text(graph, "weight") == "f32[64,3,7,7]");
  CHECK(find(graph, "weight").kind == TensorKind::kParameter);
  CHECK(bool(find(graph, "weight").origin == Origin::kAuthored));
  REQUIRE(warnings.size() == 1);  // A38
  CHECK(warnings[0].code == "W205");
  CHECK(warnings[0].message.find("1 tensor, first 'weight'") == 0);
}

TEST_CASE("small vectors with a parameter's name are parameters: their contents say nothing") {
  GraphParts parts = small_graph();
  const std::string zeros(16 * 4, '\0');
  parts.initializers = {tensor("layer.bias", 1, {16}).text(9, zeros),
                        tensor("scales", 1, {16}).text(9, zeros)};
  parts.nodes = {constant("gamma", tensor("", 1, {16}).text(9, zeros)),
                 node("Sum", {"x", "layer.bias", "scales", "gamma"}, {"y"})};
  const Graph graph = import(model(graph_of(parts)));
  CHECK_FALSE(find(graph, "layer.bias").contents);
  CHECK_FALSE(find(graph, "gamma").contents);
  CHECK(bool(find(graph, "gamma").origin == Origin::kAuthored));
  CHECK(find(graph, "scales").contents);
}

TEST_CASE("a number that a module trains is a parameter, whatever it holds now") {
  const auto known = [](const std::string& producer, std::string_view name) {
    GraphParts parts = small_graph();
    parts.initializers = {tensor(name, 1, {}).text(9, {"\0\0\x80\x3f", 4})};
    parts.nodes = {node("Mul", {"x", name}, {"/Mul_output_0"}),
                   node("Exp", {"/Mul_output_0"}, {"y"})};
    Proto file = model(graph_of(parts));
    file.text(2, producer);
    return find(import(file), name).contents != nullptr;
  };
  CHECK_FALSE(known("pytorch", "logit_scale"));
  CHECK(known("pytorch", "onnx::Mul_12"));
  CHECK(known("tf2onnx", "logit_scale"));
}

TEST_CASE("a value that PyTorch's exporter called as a weight is refused with what helps") {
  const auto refused = [](const std::string& producer, std::string_view name) {
    GraphParts parts = small_graph();
    parts.initializers = {tensor(name, 1, {}).text(9, {"\0\0\x80\x3f", 4})};
    parts.nodes = {node("Transpose", {"x"}, {name}, {}, "turn"), node("Exp", {name}, {"y"})};
    Proto file = model(graph_of(parts));
    file.text(2, producer);
    return refusal(file);
  };
  for (const char* name : {"t", "mul", "module.scale"}) {
    const Diagnostic d = refused("pytorch", name);
    CHECK(d.code == "E222");
    CHECK(d.message ==
          std::string("'") + name + "' is a weight and given again: by node 0 'turn' (Transpose)");
    CHECK(d.help.find("optimize=True") != std::string::npos);
  }
  CHECK(refused("tf2onnx", "t").help.empty());
}

TEST_CASE("a graph of other domains' operators alone needs none of ONNX's own") {
  const auto file = [](std::string_view domain) {
    GraphParts parts = small_graph();
    parts.nodes = {node("Gelu", {"x"}, {"y"}, {}, "", domain)};
    return Proto()
        .number(1, 8)
        .message(7, graph_of(parts))
        .message(8, Proto().text(1, "com.microsoft").number(2, 1));
  };
  CHECK(import(file("com.microsoft")).nodes.size() == 1);
  CHECK(refusal(file("")).code == "E213");
}

TEST_CASE("contents end at 4096 integers and 64 reals") {
  GraphParts parts = small_graph();
  const auto zeros = [](size_t bytes) { return std::string(bytes, '\0'); };
  parts.initializers = {tensor("i", 7, {4096}).text(9, zeros(4096 * 8)),
                        tensor("I", 7, {4097}).text(9, zeros(4097 * 8)),
                        tensor("r", 1, {64}).text(9, zeros(64 * 4)),
                        tensor("R", 1, {65}).text(9, zeros(65 * 4))};
  const Graph graph = import(model(graph_of(parts)));
  CHECK(find(graph, "i").contents);
  CHECK_FALSE(find(graph, "I").contents);
  CHECK(find(graph, "r").contents);
  CHECK_FALSE(find(graph, "R").contents);
}

TEST_CASE("in old files initializers are inputs, too; then they are not fed") {
  GraphParts parts = small_graph();
  parts.nodes = {node("Add", {"x", "w"}, {"y"})};
  parts.inputs.push_back(value("w", {8}));
  parts.initializers = {tensor("w", 1, {8})};
  const Graph graph = import(model(graph_of(parts)));
  CHECK(graph.inputs.size() == 1);
  CHECK(find(graph, "w").kind == TensorKind::kParameter);
}

TEST_CASE("Constant nodes are tensors, not nodes") {
  GraphParts parts = small_graph();
  parts.nodes = {constant("a", integers("", {2}, {4, 5})),
                 node("Constant", {}, {"b"}, {attribute("value_ints", std::vector<int64_t>{7})}),
                 node("Constant", {}, {"c"}, {Proto().text(1, "value_float").real(2, 0.5F)}),
                 node("Sum", {"x", "a", "b", "c"}, {"y"})};
  const Graph graph = import(model(graph_of(parts)));
  CHECK(graph.nodes.size() == 1);
  CHECK(find(graph, "a").contents->integers == std::vector<int64_t>{4, 5});
  CHECK(find(graph, "b").contents->integers == std::vector<int64_t>{7});
  CHECK(find(graph, "c").contents->reals == std::vector<double>{0.5});
  CHECK(shape_text(graph, "c") == "f32[]");
  CHECK(bool(find(graph, "a").origin == Origin::kGenerated));
}

TEST_CASE("a tensor attribute is flattened into contents and element type") {
  GraphParts parts = small_graph();
  parts.nodes = {
      node("ConstantOfShape", {"x"}, {"y"}, {tensor_attribute("value", integers("", {1}, {3}))})};
  const Graph graph = import(model(graph_of(parts)));
  CHECK(graph.nodes[0].attributes.integer("value", 0) == 3);
  CHECK(graph.nodes[0].attributes.integer("value_dtype", 0) == 7);
}

TEST_CASE("attributes of old files have no type; the field that holds the value tells") {
  GraphParts parts = small_graph();
  parts.nodes = {
      node("Foo", {"x"}, {"y"},
           {Proto().text(1, "i").number(3, 2), Proto().text(1, "s").text(4, "abc"),
            Proto().text(1, "f").real(2, 0.25F), Proto().text(1, "ints").number(8, 1).number(8, 2),
            Proto().text(1, "none").number(20, 7)})};
  const Graph graph = import(model(graph_of(parts)));
  const Attributes& attributes = graph.nodes[0].attributes;
  CHECK(attributes.integer("i", 0) == 2);
  CHECK(attributes.string("s", "") == "abc");
  CHECK(attributes.real("f", 0) == 0.25);
  CHECK(attributes.integers("ints") == std::vector<int64_t>{1, 2});
  REQUIRE(attributes.get<std::vector<int64_t>>("none"));
}

TEST_CASE("a node's domain ai.onnx is ONNX's own; an unknown operator stays a node") {
  GraphParts parts = small_graph();
  parts.nodes = {node("Relu", {"x"}, {"t"}, {}, "", "ai.onnx"),
                 node("FlashThing", {"t"}, {"y"}, {}, "", "com.acme")};
  const Graph graph = import(model(graph_of(parts)));
  CHECK(graph.nodes[0].domain.empty());
  CHECK(graph.nodes[1].domain == "com.acme");
}

TEST_CASE("A28: unsorted nodes are sorted and told of") {
  GraphParts parts = small_graph();
  parts.nodes = {node("Relu", {"t"}, {"y"}), node("Abs", {"x"}, {"t"})};
  Diagnostics warnings;
  const Graph graph = import(model(graph_of(parts)), {}, &warnings);
  CHECK(graph.nodes[0].op == "Abs");
  CHECK(codes(warnings) == "W202");
  CHECK(warnings[0].place.file == "m.onnx");
}

TEST_CASE("the module PyTorch writes beside a node wins over its name") {
  GraphParts parts = small_graph();
  parts.nodes = {node("Relu", {"x"}, {"y"}, {}, "node_relu")
                     .message(9, Proto()
                                     .text(1, "pkg.torch.onnx.name_scopes")
                                     .text(2, "['', 'layer1', 'layer1.0', 'relu']"))};
  CHECK(import(model(graph_of(parts))).nodes[0].module == "layer1.0");
}

TEST_CASE("from_torch() writes beside a node that the device computes it") {
  GraphParts parts = small_graph();
  parts.nodes = {
      node("Relu", {"x"}, {"t"}).message(9, Proto().text(1, "plimsoll.on_device").text(2, "1")),
      node("Abs", {"t"}, {"y"})};
  const Graph graph = import(model(graph_of(parts)));
  CHECK(graph.nodes[0].notes.on_device);
  CHECK_FALSE(graph.nodes[1].notes.on_device);
}
