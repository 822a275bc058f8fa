#include "graph/train/last_use.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"

namespace plimsoll {
namespace {

// The node after which nobody holds the named value.
NodeId let_go_by(const Graph& graph, std::string_view value, bool names_hold) {
  const auto uses = last_uses(graph, {}, names_hold);
  for (NodeId node = 0; node < uses.size(); ++node) {
    for (const TensorId id : uses[node]) {
      if (graph.tensors[id].name == value) return node;
    }
  }
  return kNoNode;
}

TEST_CASE("lifetimes: a call's argument lives until it returns, in a graph until it is read") {
  const auto graph = parse_text(
      "opset 17\ninput x: f32[4]\n"
      "a = Relu(x) module=\"stem\"\n"
      "b = Sigmoid(a) module=\"block.first\"\n"
      "c = Tanh(b) module=\"block.second\"\n"
      "d = Exp(c) module=\"head\"\n"
      "output d\n");
  REQUIRE(graph);
  CHECK(let_go_by(*graph, "a", true) == 2);
  CHECK(let_go_by(*graph, "a", false) == 1);
  CHECK(let_go_by(*graph, "c", true) == 3);
  CHECK(let_go_by(*graph, "c", false) == 3);
}

TEST_CASE("lifetimes: a module's code has a name for what its config says is local to it") {
  const auto graph = parse_text(
      "opset 17\ninput x: f32[4]\n"
      "a = Relu(x) module=\"h.0.attn.proj\" local_to=\"h.0\"\n"
      "b = Sigmoid(a) module=\"h.0.norm\" local_to=\".\"\n"
      "c = Tanh(b) module=\"h.0.mlp\"\n"
      "d = Exp(c) module=\"h.1.mlp\"\n"
      "e = Exp(d) module=\"head\"\n"
      "output e\n");
  REQUIRE(graph);
  CHECK(let_go_by(*graph, "a", true) == 2);
  CHECK(let_go_by(*graph, "a", false) == 1);
  CHECK(let_go_by(*graph, "b", true) == 4);
}

TEST_CASE("lifetimes: of several outputs the last one is local, though nobody reads it") {
  const auto graph = parse_text(
      "opset 17\ninput x: f32[2,4,8,16]\n"
      "y, weights = plimsoll:Attention(x, x, x) module=\"h.0.attn\" local_to=\"h.0\"\n"
      "z = Relu(y) module=\"h.0.mlp\"\n"
      "output z\n");
  REQUIRE(graph);
  CHECK(let_go_by(*graph, "weights", true) == 1);
  CHECK(let_go_by(*graph, "weights", false) == kNoNode);
}

// Clip(x, low, ) as TorchScript writes it: an input that is left out is no tensor.
TEST_CASE("lifetimes: a last input that is left out is nobody's branch") {
  const auto graph = parse_text(
      "opset 17\ninput x: f32[4]\nconst low: f32[] = [0.5]\n"
      "a = Relu(x) module=\"stem\"\n"
      "b = Sigmoid(a) module=\"block\"\n"
      "c = Clip(a, low, _)\n"
      "d = Add(b, c)\n"
      "output d\n");
  REQUIRE(graph);
  REQUIRE(graph->nodes[2].inputs.back() == kNoTensor);
  CHECK(let_go_by(*graph, "a", true) == 3);
}

// A Sequential is called and holds what it was given; a ModuleList is not.
TEST_CASE(
    "lifetimes: the exporter's list of calls tells containers that run from those that do not") {
  const auto written = [](const std::string& first, const std::string& second) {
    return "opset 17\ninput x: f32[4]\n"
           "a = Relu(x) module=\"stem\" calls=\"/stem\"\n"
           "b = Sigmoid(a) module=\"blocks.0\" calls=\"" +
           first + "\"\nc = Tanh(b) module=\"blocks.1\" calls=\"" + second +
           "\"\n"
           "d = Exp(c) module=\"head\" calls=\"/head\"\noutput d\n";
  };
  const auto sequential = parse_text(written("/blocks/blocks.0", "/blocks/blocks.1"));
  const auto list = parse_text(written("/blocks.0", "/blocks.1"));
  REQUIRE(sequential);
  REQUIRE(list);
  CHECK(let_go_by(*sequential, "a", true) == 2);
  CHECK(let_go_by(*list, "a", true) == 1);
}

TEST_CASE("lifetimes: what waits for its reader has a name, unless its softmax takes that name") {
  const auto read_by = [](const std::string& reader) {
    auto graph = parse_text(
        "opset 17\ninput x: f32[4]\n"
        "a = Relu(x) module=\"block\"\n"
        "b = Sigmoid(x) module=\"block\"\n"
        "c = " +
        reader +
        "(a) module=\"block\"\n"
        "d = Add(b, c) module=\"block\"\n"
        "e = Exp(d) module=\"head\"\noutput e\n");
    REQUIRE(graph);
    const Binding nothing;
    Decider decider(nothing);
    Diagnostics warnings;
    REQUIRE(infer(*graph, decider, warnings));
    return let_go_by(*graph, "a", true);
  };
  CHECK(read_by("Tanh") == 3);
  CHECK(read_by("Softmax") == 2);
}

// SegFormer's head resizes four maps into a list and joins them.
TEST_CASE("lifetimes: the operands of one Concat that the same operator made are held alike") {
  const auto joined = [](const std::string& last) {
    auto graph = parse_text(
        "opset 17\ninput x: f32[4]\n"
        "a = Relu(x) module=\"block\"\n"
        "b = Sigmoid(a) module=\"block\"\n"
        "c = " +
        last +
        "(b) module=\"block\"\n"
        "d = Concat(a, c) {axis=0} module=\"block\"\n"
        "e = Exp(d) module=\"block\"\n"
        "f = Exp(e) module=\"head\"\noutput f\n");
    REQUIRE(graph);
    const Binding nothing;
    Decider decider(nothing);
    Diagnostics warnings;
    REQUIRE(infer(*graph, decider, warnings));
    return let_go_by(*graph, "c", true);
  };
  CHECK(joined("Relu") == 4);
  CHECK(joined("Neg") == 3);
}

// DenseNet's layers join what they were given, under a name; SegFormer's head what it made, where
// it passes it on.
TEST_CASE("lifetimes: what a call joins has a name there if the call was given all of it") {
  const auto joined = [](const std::string& maker) {
    auto graph = parse_text(
        "opset 17\ninput x: f32[4]\n"
        "a = Relu(x) module=\"stem\"\n"
        "b = Sigmoid(a) module=\"" +
        maker +
        "\"\n"
        "d = Concat(a, b) {axis=0} module=\"block\"\n"
        "e = Exp(d) module=\"block.first\"\n"
        "f = Exp(e) module=\"block.second\"\n"
        "g = Exp(f) module=\"head\"\noutput g\n");
    REQUIRE(graph);
    const Binding nothing;
    Decider decider(nothing);
    Diagnostics warnings;
    REQUIRE(infer(*graph, decider, warnings));
    return let_go_by(*graph, "d", true);
  };
  CHECK(joined("stem") == 4);
  CHECK(joined("block") == 3);
}

Graph inferred(const std::string& text) {
  auto graph = parse_text("opset 17\n" + text);
  REQUIRE(graph);
  const Binding nothing;
  Decider decider(nothing);
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  return std::move(*graph);
}

// The decoders of diffusion's U-Nets: hidden = cat([hidden, skip]); hidden = block(hidden).
TEST_CASE("lifetimes: what a loop joins has its name until the next turn") {
  const Graph graph = inferred(
      "input x: f32[4]\na = Relu(x) module=\"stem\"\n"
      "b = Concat(a, a) {axis=0} module=\"up\"\nc = Exp(b) module=\"up.first\"\n"
      "d = Neg(c) module=\"up.first\"\n"
      "e = Concat(d, a) {axis=0} module=\"up\"\nf = Exp(e) module=\"up.second\"\n"
      "g = Exp(f) module=\"head\"\noutput g\n");
  CHECK(let_go_by(graph, "b", true) == 3);
  CHECK(let_go_by(graph, "e", true) == 5);
}

// TNT's blocks read their pixels once more before they return them.
TEST_CASE("lifetimes: a call's own reading of what it returns is none of the code around it") {
  const Graph graph = inferred(
      "input x: f32[4]\na = Relu(x) module=\"blocks.0.mlp\"\nb = Exp(a) module=\"blocks.0\"\n"
      "c = Exp(a) module=\"blocks.1.mlp\"\nd = Add(b, c) module=\"blocks.1\"\n"
      "e = Exp(d) module=\"head\"\noutput e\n");
  CHECK(let_go_by(graph, "a", true) == 3);
}

// A U-Net's encoders make a list; its decoders take two of it at a time, or one each by name.
TEST_CASE("lifetimes: parts of a list that is cut are held by the call that they are passed to") {
  const auto skip = [](const std::string& deep, const std::string& shallow) {
    return let_go_by(
        inferred(
            "input x: f32[4]\n"
            "a = Exp(x) module=\"one\"\nb = Exp(a) module=\"two\"\nc = Exp(b) module=\"three\"\n"
            "d = Exp(c) module=\"four\"\ne = Exp(d) module=\"mid\"\n"
            "f = Add(e, d) module=\"" +
            deep + "\"\ng = Add(f, c) module=\"" + deep +
            "\"\n"
            "h = Add(g, b) module=\"" +
            shallow + "\"\ni = Add(h, a) module=\"" + shallow +
            "\"\n"
            "j = Exp(i) module=\"head\"\noutput j\n"),
        "d", true);
  };
  CHECK(skip("up.0", "up.1") == 6);
  CHECK(skip("up.0", "up.0") == 9);  // the names go on
}

// outputs = self.model(...); logits = self.head(outputs[0])
TEST_CASE("lifetimes: what most of a network returns to where its head is called has a name") {
  const auto returned_by = [](const std::string& first) {
    return let_go_by(inferred("input x: f32[4]\na = Relu(x) module=\"" + first +
                              "\"\nb = Exp(a) module=\"net.base.two\"\n"
                              "c = Exp(b) module=\"net.base.two\"\n"
                              "d = Exp(c) module=\"net.base.two\"\n"
                              "e = Exp(d) module=\"net.head.one\"\n"
                              "f = Exp(e) module=\"net.head.two\"\n"
                              "g = Exp(f) module=\"net.tail\"\noutput g\n"),
                     "d", true);
  };
  CHECK(returned_by("net.base.one") == 6);
  CHECK(returned_by("net.stem") == 5);
}

// Hugging Face's: encoder_outputs and decoder_outputs live until the logits are there.
TEST_CASE("lifetimes: what an encoder gave to a decoder that embeds tokens lives to the end") {
  const auto written = [](const std::string& table, const std::string& decoder) {
    auto graph = parse_text("opset 17\ninput x: f32[2,8]\ninput tokens: i64[2]\n" + table +
                            " table: f32[9,8]\nparam head: f32[8,9]\n"
                            "memory = Tanh(x) calls=\"/model/encoder\"\n"
                            "words = Gather(table, tokens) calls=\"/model/" +
                            decoder +
                            "\"\n"
                            "sum = Add(words, memory) calls=\"/model/" +
                            decoder +
                            "\"\n"
                            "states = Tanh(sum) calls=\"/model/" +
                            decoder +
                            "\"\n"
                            "scaled = Exp(states) calls=\"/model\"\n"
                            "logits = MatMul(scaled, head) calls=\"/lm_head\"\noutput logits\n");
    REQUIRE(graph);
    Decider decider({});
    Diagnostics warnings;
    REQUIRE(infer(*graph, decider, warnings));
    return *graph;
  };
  const Graph text = written("param", "decoder");
  CHECK(let_go_by(text, "memory", true) == 5);
  CHECK(let_go_by(text, "memory", false) == 2);
  CHECK(let_go_by(text, "states", true) == 4);
  // Near misses: torch.nn.Transformer's decoder is given embeddings; another module.
  CHECK(let_go_by(written("input", "decoder"), "memory", true) == 3);
  CHECK(let_go_by(written("param", "layer"), "memory", true) == 3);
}

// embedding_output keeps its name while layers take over another; timm's patch_embed does not.
TEST_CASE("lifetimes: embeddings have a name beside what layers hand on") {
  const auto written = [](const std::string& module) {
    return parse_text(
        "opset 17\ninput x: f32[4]\n"
        "first = Relu(x) calls=\"/model/" +
        module +
        "\"\n"
        "a = Tanh(first) calls=\"/model/layers.0\"\n"
        "b = Tanh(a) calls=\"/model/layers.1\"\n"
        "c = Exp(b) calls=\"/head\"\noutput c\n");
  };
  const auto named = written("embeddings");
  const auto taken_over = written("patch_embed");
  REQUIRE(named);
  REQUIRE(taken_over);
  CHECK(let_go_by(*named, "first", true) == 2);
  CHECK(let_go_by(*taken_over, "first", true) == 1);
}

// The node after which nobody holds a value of code that a block and then a head run.
NodeId let_go_in_block(const std::string& nodes, std::string_view value) {
  auto graph = parse_text("opset 17\ninput x: f32[4]\n" + nodes +
                          "last = Exp(y) calls=\"/model/block\"\n"
                          "out = Exp(last) calls=\"/head\"\noutput out\n");
  REQUIRE(graph);
  const Binding nothing;
  Decider decider(nothing);
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  return let_go_by(*graph, value, true);
}

TEST_CASE("lifetimes: a term of an expression does not wait for its other terms") {
  const auto scaled_by = [](const std::string& other) {
    return let_go_in_block(
        "a = Relu(x) calls=\"/model/block/norm\"\n"
        "s = " +
            other +
            " calls=\"/model/block\"\n"
            "y = Mul(a, s) calls=\"/model/block\"\n",
        "a");
  };
  CHECK(scaled_by("Add(x, x)") == 2);   // self.norm(x) * (1 + scale)
  CHECK(scaled_by("Sigmoid(x)") == 3);  // a = self.norm(x); s = scale.sigmoid(); a * s
}

TEST_CASE("lifetimes: what the first of a list of modules is given has the name of what it makes") {
  const auto given_to = [](const std::string& module) {
    return let_go_in_block(
        "a = Relu(x) calls=\"/model/block/stem\"\n"
        "s = Sigmoid(x) calls=\"/model/block\"\n"
        "b = Tanh(a) calls=\"/model/block/" +
            module +
            "\"\n"
            "y = Mul(b, s) calls=\"/model/block\"\n",
        "a");
  };
  CHECK(given_to("layers.0") == 2);
  CHECK(given_to("layer") == 4);
}

TEST_CASE(
    "lifetimes: the sum that ends a branch takes over the name of what the branch began with") {
  const auto summed = [](const std::string& module, const std::string& sum) {
    return "a = Relu(x) calls=\"/model/block/first\"\n"
           "b = Tanh(a) calls=\"/model/block" +
           module +
           "\"\n"
           "y = " +
           sum + " calls=\"/model/block\"\n";
  };
  const std::string direct = summed("/mlp", "Add(a, b)");  // a = a + self.mlp(a)
  CHECK(let_go_in_block(direct, "a") == 2);
  CHECK(let_go_in_block(direct, "b") == 2);
  // shortcut = a; a = self.norm(a).tanh(); a = shortcut + a
  const std::string shortcut =
      "a = Relu(x) calls=\"/model/block/first\"\n"
      "n = Exp(a) calls=\"/model/block/norm\"\n"
      "b = Tanh(n) calls=\"/model/block\"\n"
      "y = Add(a, b) calls=\"/model/block\"\n";
  CHECK(let_go_in_block(shortcut, "a") == 4);
  // Near miss: hidden_states = hidden_states + residual.
  const std::string unnamed = summed("/attention", "Add(b, a)");
  CHECK(let_go_in_block(unnamed, "a") == 3);
  CHECK(let_go_in_block(unnamed, "b") == 2);
}

}  // namespace
}  // namespace plimsoll
