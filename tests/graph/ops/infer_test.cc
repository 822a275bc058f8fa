#include "graph/ops/infer.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/base/setting.h"
#include "graph/exporter/weight_roles.h"
#include "graph/ir/text.h"

namespace plimsoll {
namespace {

Graph parsed(const std::string& text) {
  auto graph = parse_text(text);
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  return std::move(*graph);
}

Result<void> inferred(Graph& graph, const InferOptions& options = {}) {
  const Binding nothing;
  Decider decider(nothing);
  Diagnostics warnings;
  return infer(graph, decider, warnings, options);
}

TEST_CASE("infer: CastLike reads the type of its second input and no more") {
  Graph graph = parsed(
      "opset 20\ninput x: f32[4]\nparam table: f16[1000,1000]\n"
      "y = CastLike(x, table)\noutput y\n");
  REQUIRE(inferred(graph));
  CHECK(graph.nodes[0].op == "Cast");
  CHECK(graph.nodes[0].inputs.size() == 1);
  CHECK(graph.tensors[graph.outputs[0]].dtype == DType::kFloat16);
  CHECK(classify_parameters(graph)[1] == WeightRole::kConstant);
}

// As TorchScript writes x.expand(1, -1): two extents are no batch of two.
TEST_CASE("infer: extents that Shape tells are no batch that was baked into the file") {
  const std::string file =
      "opset 18\nbaked 2 as B\ninput x: f32[B,8]\nconst one: i64[2] = [1,-1]\n"
      "const two: i64[1] = [2]\nconst less: i64[] = [-1]\n"
      "const batch: i64[2] = [2,-1]\nparam cls: f32[1,8]\n";
  // x.expand() with ones where an extent stays
  const auto expanded = [&](const std::string& x, const std::string& to) {
    Graph graph =
        parsed(file + "s = Shape(" + to + ")\no = ConstantOfShape(s) {value=1, value_dtype=7}\n" +
               "m = Mul(o, less)\ne = Equal(" + to + ", m)\nw = Where(e, o, " + to +
               ")\ny = Expand(" + x + ", w)\noutput y\n");
    REQUIRE(inferred(graph));
    return text(*graph.tensors[graph.outputs[0]].shape);
  };
  CHECK(expanded("x", "one") == "[B,8]");
  CHECK(expanded("cls", "batch") == "[B,8]");  // a class token's is of the batch
  Graph literal = parsed(file + "y = ConstantOfShape(two)\noutput y\n");
  REQUIRE(inferred(literal));
  CHECK(text(*literal.tensors[literal.outputs[0]].shape) == "[B]");
}

TEST_CASE("infer: of an extent cut into parts the one of the baked batch's size is the batch") {
  std::string baked = "4";
  const auto cut = [&](const std::string& from, const std::string& to) {
    Graph graph = parsed("opset 18\nbaked " + baked + " as B\ninput x: f32[" + from +
                         "]\nconst to: i64[" + std::to_string(1 + std::ranges::count(to, ',')) +
                         "] = [" + to + "]\ny = Reshape(x, to)\noutput y\n");
    REQUIRE(inferred(graph));
    return text(*graph.tensors[graph.outputs[0]].shape);
  };
  // The sequence before the batch, and behind it.
  CHECK(cut("24*B,32", "24,4,32") == "[24,B,32]");
  CHECK(cut("24*B,32", "4,24,32") == "[B,24,32]");
  CHECK(cut("24,B,32", "24,16,8") == "[24,4*B,8]");
  CHECK(cut("24,B,32", "96,32") == "[24*B,32]");
  CHECK(cut("4*B,24,24", "4,4,24,24") == "[B,4,24,24]");
  // Windows of 64 with four heads: of their own extents none is the batch.
  CHECK(cut("64*B,49,32", "256,49,4,8") == "[64*B,49,4,8]");
  CHECK(cut("B,56,56,8", "256,49,8") == "[64*B,49,8]");
  CHECK(cut("64*B,49,8", "-1,8,8,7,7,8") == "[B,8,8,7,7,8]");
  // One sample, whose extent may vanish into what is before it.
  baked = "1";
  CHECK(cut("40,B,64", "40,64") == "[40*B,64]");
  CHECK(cut("40,B,8,8", "40,64") == "[40*B,64]");
  CHECK(cut("40,B,64", "40,8,8") == "[40,8*B,8]");
  CHECK(cut("40*B,64", "40,1,64") == "[40,B,64]");
  CHECK(cut("8*B,40,8", "1,8,40,8") == "[B,8,40,8]");
  CHECK(cut("B,8,64", "8,64") == "[8*B,64]");
  CHECK(cut("64*B,1,8", "64,1,8") == "[64*B,1,8]");
  CHECK(cut("B,196,8", "1,14,14,8") == "[B,14,14,8]");
}

// token.expand(x.shape[0], -1, -1) is written as it stands where there was one sample.
TEST_CASE("infer: what a file of one sample expands to what it is is of the batch") {
  const auto expanded = [](const std::string& to) {
    Graph graph = parsed(
        "opset 18\nbaked 1 as B\ninput x: f32[B,4,8]\nparam token: f32[1,1,8]\n"
        "const to: i64[3] = [" +
        to + "]\ny = Expand(token, to)\noutput y\n");
    REQUIRE(inferred(graph));
    return text(*graph.tensors[graph.outputs[0]].shape);
  };
  CHECK(expanded("1,1,8") == "[B,1,8]");
  CHECK(expanded("1,-1,-1") == "[B,1,8]");
  CHECK(expanded("1,4,8") == "[1,4,8]");
}

// Zeros that nn.MultiheadAttention joins to its keys, as the file's batch has them.
TEST_CASE("infer: a constant that was a multiple of the baked batch joins it") {
  Graph graph = parsed(
      "opset 18\nbaked 4 as B\ninput x: f32[B,24,8]\nconst to: i64[3] = [16,6,8]\n"
      "param z: f32[16,1,8]\nh = Reshape(x, to)\ny = Concat(h, z) {axis=1}\noutput y\n");
  REQUIRE(inferred(graph));
  CHECK(text(*graph.tensors[graph.outputs[0]].shape) == "[4*B,7,8]");
}

// PyTorch's GroupNorm(4, 8) in a file of four samples: its ones are expanded to [4].
TEST_CASE("infer: as many groups as the baked batch has samples are groups") {
  Graph graph = parsed(
      "opset 18\nbaked 4 as B\ninput x: f32[B,4,8]\nconst one: f32[1] = [1]\n"
      "const groups: i64[1] = [4]\nw = Expand(one, groups)\n"
      "y = InstanceNormalization(x, w, w)\noutput y\n");
  REQUIRE(inferred(graph));
  CHECK(text(*graph.tensors[graph.outputs[0]].shape) == "[B,4,8]");
}

// aten.squeeze.dim, as PyTorch's newer exporter writes it.
TEST_CASE("infer: PyTorch's squeeze leaves an axis that is not 1, ONNX's is refused it") {
  const auto squeezed = [](const std::string& notes) {
    return parsed("opset 20\ninput x: f32[2,6]\nconst axis: i64[1] = [1]\ny = Squeeze(x, axis)" +
                  notes + "\noutput y\n");
  };
  Graph graph = squeezed(" calls=\"/\"");
  REQUIRE(inferred(graph));
  CHECK(*graph.tensors[graph.outputs[0]].shape == Shape{Dim(2), Dim(6)});
  graph = squeezed("");
  const auto refused = inferred(graph);
  REQUIRE(!refused);
  CHECK(refused.error().front().code == "E246");
}

constexpr const char* kComputed =
    "opset 20\ninput x: f32[2,6]\ninput sizes: i64[2]\ny = Reshape(x, sizes)\noutput y\n";

TEST_CASE("infer: contents that are not known can be said, as E254 asks") {
  Graph graph = parsed(kComputed);
  const auto unknown = inferred(graph);
  REQUIRE(!unknown);
  CHECK(unknown.error().front().code == "E254");
  CHECK(unknown.error().front().help.find(setting_entry("contents", "sizes", "N,N,...")) !=
        std::string::npos);
  graph = parsed(kComputed);
  InferOptions options;
  options.contents["sizes"] = {4, -1};
  REQUIRE(inferred(graph, options));
  CHECK(*graph.tensors[graph.outputs[0]].shape == Shape{Dim(4), Dim(3)});
}

TEST_CASE("infer: contents of a tensor that is not there are refused") {
  Graph graph = parsed(kComputed);
  InferOptions options;
  options.contents["size"] = {4, -1};
  const auto refused = inferred(graph, options);
  REQUIRE(!refused);
  CHECK(refused.error().front().code == "E112");
}

}  // namespace
}  // namespace plimsoll
