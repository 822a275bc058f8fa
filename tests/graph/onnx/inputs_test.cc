#include "graph/onnx/inputs.h"

#include <doctest/doctest.h>

#include "graph/base/setting.h"
#include "tests/support/import_support.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

Graph with_inputs(const std::vector<Proto>& inputs, const ImportOptions& options = {},
                  Diagnostics* warnings = nullptr) {
  GraphParts parts = small_graph();
  parts.inputs = inputs;
  return import(model(graph_of(parts)), options, warnings);
}

Diagnostic refused(const std::vector<Proto>& inputs, const ImportOptions& options = {}) {
  GraphParts parts = small_graph();
  parts.inputs = inputs;
  return refusal(model(graph_of(parts)), options);
}

}  // namespace

TEST_CASE("named extents are symbols, the same everywhere; the first is the batch") {
  const Graph graph = with_inputs({value("x", {"N", "seq"}, 7), value("mask", {"N", "seq", 1}, 9)});
  CHECK(shape_text(graph, "x") == "i64[N,seq]");
  CHECK(shape_text(graph, "mask") == "bool[N,seq,1]");
  CHECK(graph.batch_symbol == "N");
  CHECK(graph.baked_batch == 0);
}

TEST_CASE("an extent's name says more than its place, which is said") {
  const auto batch_of = [](const std::vector<Proto>& inputs, std::string_view wanted_codes) {
    Diagnostics warnings;
    const Graph graph = with_inputs(inputs, {}, &warnings);
    CHECK(codes(warnings) == wanted_codes);
    CHECK(graph.baked_batch == 0);
    return graph.batch_symbol;
  };
  CHECK(batch_of({value("x", {"sequence", "batch", 8})}, "W214") == "batch");
  CHECK(batch_of({value("x", {"T", "N", 8})}, "W214") == "N");
  CHECK(batch_of({value("x", {"s0", "batch_size"}, 7)}, "W214") == "batch_size");
  CHECK(batch_of({value("x", {35, "batch", 8})}, "") == "batch");
  CHECK(batch_of({value("x", {"seq", 8}), value("z", {"batch", 8})}, "W214") == "batch");
  // Two names that say as much: the first. One that says nothing of itself: its place does.
  CHECK(batch_of({value("x", {"batch", "N", 3})}, "") == "batch");
  CHECK(batch_of({value("x", {"B", "T"}, 7)}, "") == "B");
  CHECK(batch_of({value("x", {"points", "N", 3})}, "") == "points");
  CHECK(batch_of({value("x", {"sequence", 8})}, "") == "sequence");
}

TEST_CASE("of extents without names the first is the batch, and it is said where another may be") {
  const auto told = [](const std::vector<Proto>& inputs) {
    Diagnostics warnings;
    const Graph graph = with_inputs(inputs, {}, &warnings);
    std::string text = graph.batch_symbol;
    for (const Diagnostic& d : warnings) text += ", " + d.code + " " + d.message;
    return text;
  };
  CHECK(told({value("x", {"s0", "s1", 8})}) ==
        "s0, W214 the batch is 's0', which comes first; 's1' of input 'x' has no name either, "
        "and may be the batch too");
  CHECK(told({value("x", {"unk__6", "unk__7"}, 7)}).find("'unk__7'") != std::string::npos);
  CHECK(told({value("x", {"", ""})}).find("'x_dim1' of input 'x'") != std::string::npos);
  CHECK(told({value("x", {"s0", 8}), value("v", {"s1", 8})}).find("'s1' of input 'v'") !=
        std::string::npos);
  // Who has a name, or one place alone, is no question; height and width come behind channels.
  CHECK(told({value("x", {"batch", "s1"}, 7)}) == "batch");
  CHECK(told({value("x", {"s0", "sequence"}, 7)}) == "s0");
  CHECK(told({value("x", {"s0", 3, "s1", "s2"})}) == "s0");
  CHECK(told({value("x", {"s0", 3}), value("z", {"s0", 3})}) == "s0");
}

TEST_CASE("products of names are products; other expressions are symbols of their own") {
  const Graph graph = with_inputs({value("x", {"2*s0", "s0 * s1"}), value("z", {"s0", "s1 + 1"})});
  CHECK(shape_text(graph, "x") == "f32[2*s0,s0*s1]");
  CHECK(shape_text(graph, "z") == "f32[s0,s1___1]");
  CHECK(graph.batch_symbol == "s0");
}

TEST_CASE("names that differ only in odd characters stay apart") {
  const Graph graph = with_inputs({value("x", {"a-b", "a+b"}), value("z", {"a-b", "7up"})});
  CHECK(shape_text(graph, "x") == "f32[a_b,a_b_2]");
  CHECK(shape_text(graph, "z") == "f32[a_b,_7up]");
}

TEST_CASE("unknown extents become the batch or a symbol of the input") {
  Diagnostics warnings;
  const Graph graph =
      with_inputs({value("x", {"", 3, -1, 0}), value("z", {"", ""})}, {}, &warnings);
  CHECK(shape_text(graph, "x") == "f32[batch,3,x_dim2,x_dim3]");
  CHECK(shape_text(graph, "z") == "f32[batch,z_dim1]");
  CHECK(codes(warnings) == "W203");
}

TEST_CASE("a batch baked in as a constant becomes a symbol with that default") {
  const Graph graph = with_inputs({value("x", {4, 3, 8, 8}), value("labels", {4}, 7),
                                   value("rate", {}), value("flag", {1}, 9)});
  CHECK(shape_text(graph, "x") == "f32[batch,3,8,8]");
  CHECK(shape_text(graph, "labels") == "i64[batch]");
  CHECK(shape_text(graph, "rate") == "f32[]");
  CHECK(shape_text(graph, "flag") == "bool[1]");
  CHECK(graph.baked_batch == 4);
  CHECK(graph.batch_symbol == "batch");
  CHECK(graph.defaults.at("batch") == 4);
}

TEST_CASE("a batch of one is found, too; a vector of one element stays what it is") {
  const Graph graph = with_inputs({value("x", {1, 3, 8, 8}), value("flag", {1})});
  CHECK(shape_text(graph, "x") == "f32[batch,3,8,8]");
  CHECK(shape_text(graph, "flag") == "f32[1]");
  CHECK(graph.baked_batch == 1);
}

TEST_CASE("inputs that disagree have no baked batch, nor has a scalar") {
  CHECK(with_inputs({value("x", {4, 3}), value("z", {5, 3})}).baked_batch == 0);
  CHECK(with_inputs({value("x", {})}).baked_batch == 0);
  CHECK(with_inputs({value("x", {16})}).baked_batch == 0);
  const Graph mixed = with_inputs({value("x", {4, 3}), value("z", {"N", 3})});
  CHECK(mixed.baked_batch == 0);
  CHECK(mixed.batch_symbol == "N");
}

TEST_CASE("--shape replaces constants and gives symbols their defaults") {
  ImportOptions options;
  options.shapes["x"] = {16, 3, 160, 160};
  const Graph graph = with_inputs({value("x", {"N", 3, 224, 224})}, options);
  CHECK(shape_text(graph, "x") == "f32[N,3,160,160]");
  CHECK(graph.defaults.at("N") == 16);
  const Graph baked = with_inputs({value("x", {4, 3, 224, 224})}, options);
  CHECK(shape_text(baked, "x") == "f32[batch,3,160,160]");
  CHECK(baked.baked_batch == 4);  // what reshapes in the file carry
  CHECK(baked.defaults.at("batch") == 16);
}

TEST_CASE("--shape gives an input the shape the file does not say") {
  ImportOptions options;
  options.shapes["x"] = {16, 10};
  const Proto shapeless = Proto().text(1, "x").message(2, Proto().message(1, Proto().number(1, 1)));
  CHECK(shape_text(with_inputs({shapeless}, options), "x") == "f32[batch,10]");
  const Diagnostic d = refused({shapeless});
  CHECK(d.code == "E235");
  CHECK(d.help == "give it with " + setting_entry("shape", "x", "1x3x224x224"));
}

TEST_CASE("--shape that cannot be is refused") {
  ImportOptions options;
  options.shapes["y"] = {1};
  CHECK(refused({value("x", {1})}, options).code == "E112");
  options.shapes = {{"x", {1, 2}}};
  CHECK(refused({value("x", {1})}, options).code == "E236");
  options.shapes = {{"x", {0}}};
  CHECK(refused({value("x", {1})}, options).code == "E231");
  options.shapes = {{"x", {2, 3}}, {"z", {4, 3}}};  // A36
  const Diagnostic d = refused({value("x", {"N", 3}), value("z", {"N", 3})}, options);
  CHECK(d.code == "E233");
  CHECK(d.message == "dimension 'N' is 2 in input 'x' and 4 in 'z'");
}

TEST_CASE("--image resizes inputs of rank 4, channels first or last") {
  ImportOptions options;
  options.image = 160;
  const Graph graph = with_inputs({value("x", {4, 3, 224, 224}), value("z", {4, 224, 224, 3}),
                                   value("t", {4, 7}), value("v", {4, 3, "h", "w"})},
                                  options);
  CHECK(shape_text(graph, "x") == "f32[batch,3,160,160]");
  CHECK(shape_text(graph, "z") == "f32[batch,160,160,3]");
  CHECK(shape_text(graph, "t") == "f32[batch,7]");
  CHECK(shape_text(graph, "v") == "f32[batch,3,h,w]");
  CHECK(graph.defaults.at("h") == 160);
}

TEST_CASE("an image side can be a symbol, for sweeps") {
  ImportOptions options;
  options.image_symbol = true;
  const Graph graph = with_inputs({value("x", {4, 3, 224, 224})}, options);
  CHECK(shape_text(graph, "x") == "f32[batch,3,image,image]");
  CHECK(graph.defaults.at("image") == 224);
}

TEST_CASE("inputs that are no tensors or have impossible extents are refused") {
  CHECK(refused({Proto().text(1, "x").message(2, Proto().text(4, ""))}).code == "E226");
  CHECK(refused({value("x", {1}, 99)}).code == "E234");
  CHECK(refused({value("x", {-5, 3})}).code == "E231");  // A31
  CHECK(refused({value("x", {int64_t{1} << 50})}).code == "E809");
}
