#include "graph/config/model_config.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "graph/config/layer_type.h"
#include "graph/json/reader.h"
#include "graph/ops/infer.h"
#include "graph/train/expand.h"

namespace plimsoll {
namespace {

Result<ModelConfig> load(const std::string& text, const config::Settings& set = {}) {
  Diagnostics warnings;
  return load_model_config(text, "net.json", {.set = set}, warnings);
}

// A config of one input x and these layers.
std::string with_layers(const std::string& shape, const std::string& layers,
                        const std::string& parameters = "{}") {
  return fmt::format(
      R"({{"schema": "plimsoll.model-config", "version": 1, "name": "net", "parameters": {},
"inputs": [{{"name": "x", "shape": {}}}], "layers": [
{}]}})",
      parameters, shape, layers);
}

std::string output_type(const Graph& graph) {
  const Tensor& out = graph.tensors[graph.outputs.front()];
  return text(TensorType{out.dtype, *out.shape});
}

Dim count(const Graph& graph, WeightRole kind) {
  const auto kinds = classify_parameters(graph);
  Dim count = 0;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    if (t.kind == TensorKind::kParameter && kinds[id] == kind) count += elements(*t.shape);
  }
  return count;
}
Dim trained(const Graph& graph) { return count(graph, WeightRole::kTrained); }

// The type of the last layer's output and the number of trained parameters.
std::string built(const std::string& shape, const std::string& layers,
                  const std::string& parameters = "{}") {
  const auto config = load(with_layers(shape, layers, parameters));
  if (!config) return config.error().front().code + " " + config.error().front().message;
  const Graph& graph = config->networks.front().graph;
  return output_type(graph) + " " + trained(graph).text();
}

}  // namespace

TEST_CASE("widths stay symbols, structure is bound") {
  const std::string text = with_layers(R"(["batch", 8])", R"(
    {"name": "body", "type": "repeat", "count": "layers", "layers": [
      {"name": "fc", "type": "linear", "out": "4*hidden"}]},
    {"name": "head", "type": "linear", "out": 10})",
                                       R"({"hidden": 16, "layers": 2})");
  const auto config = load(text);
  REQUIRE_MESSAGE(config, config.error().front().message);
  const Graph& graph = config->networks.front().graph;
  CHECK(graph.defaults == Binding{{"batch", 32}, {"hidden", 16}});
  CHECK(trained(graph).evaluate(graph.defaults) == 8 * 64 + 64 + 64 * 64 + 64 + 640 + 10);
  CHECK(graph.nodes[1].module == "body.1.fc");
  CHECK(graph.tensors[graph.nodes[1].inputs[1]].name == "body.1.fc.weight");
  REQUIRE(config->parameters.size() == 3);
  CHECK(config->parameters[0].symbolic);
  CHECK_FALSE(config->parameters[1].symbolic);
  const auto deeper = load(text, {{"layers", "5"}, {"hidden", "4"}});
  REQUIRE(deeper);
  CHECK(deeper->networks.front().graph.nodes.size() == 6);
  CHECK(deeper->networks.front().graph.defaults.at("hidden") == 4);
}

TEST_CASE("layers make the shapes and parameters that PyTorch's make") {
  const std::string image = R"(["batch", 8, 14, 14])";
  CHECK(built(image, R"({"type": "conv2d", "out": 4, "kernel": 3})") == "f32[batch,4,12,12] 292");
  CHECK(
      built(image, R"({"type": "conv2d", "out": 4, "kernel": [3, 5], "padding": "same", "groups": 2,
                        "bias": false})") == "f32[batch,4,14,14] 240");
  CHECK(
      built(image,
            R"({"type": "conv_transpose2d", "out": 4, "kernel": 4, "stride": 2, "padding": 1})") ==
      "f32[batch,4,28,28] 516");
  CHECK(built(image, R"({"type": "max_pool2d", "kernel": 3, "stride": 2, "ceil": true})") ==
        "f32[batch,8,7,7] 0");
  CHECK(built(image, R"({"type": "adaptive_average_pool", "size": 7})") == "f32[batch,8,7,7] 0");
  CHECK(built(image, R"({"type": "batch_norm"})") == "f32[batch,8,14,14] 16");
  CHECK(built(image, R"({"type": "group_norm", "groups": 4})") == "f32[batch,8,14,14] 16");
  CHECK(built(image, R"({"type": "upsample", "scale": 2})") == "f32[batch,8,28,28] 0");
  CHECK(built(image, R"({"type": "flatten"}, {"type": "linear", "out": 2})") ==
        "f32[batch,2] 3138");
  CHECK(built(image, R"({"type": "residual", "layers": [{"type": "relu"}]})") ==
        "f32[batch,8,14,14] 0");
  CHECK(built(image, R"({"type": "branches", "branches": {"a": [], "b": [{"type": "relu"}]}})") ==
        "f32[batch,16,14,14] 0");
  const std::string sequence = R"(["batch", 5, 12])";
  CHECK(built(sequence, R"({"type": "layer_norm"})") == "f32[batch,5,12] 24");
  CHECK(built(sequence, R"({"type": "rms_norm"})") == "f32[batch,5,12] 12");
  CHECK(built(sequence, R"({"type": "lstm", "hidden": 6, "layers": 2, "bidirectional": true})") ==
        "f32[batch,5,12] 1920");
  CHECK(built(sequence, R"({"type": "gru", "hidden": 6})") == "f32[batch,5,6] 360");
  CHECK(built(sequence, R"({"type": "attention", "heads": 3})") == "f32[batch,5,12] 624");
  CHECK(built(sequence, R"({"type": "attention", "heads": 3, "packed": true, "causal": true})") ==
        "f32[batch,5,12] 624");
  CHECK(built(sequence, R"({"type": "select", "axis": 1, "index": -1})") == "f32[batch,12] 0");
  CHECK(built(sequence, R"({"type": "onnx", "op": "Erf"})") == "f32[batch,5,12] 0");
}

// transformers' NewGELUActivation: x^3, its part, x beside it, the scale, tanh, 1 more, half of x,
// the product.
TEST_CASE("GELU in pieces is an operator each, and stays so") {
  const auto nodes = [](const std::string& approximate) {
    const auto config = load(with_layers(
        R"(["batch", 8])", R"({"type": "gelu", "approximate": ")" + approximate + R"("})"));
    REQUIRE(config.has_value());
    std::vector<std::string> ops;
    for (const Node& node : config->networks.front().graph.nodes) ops.push_back(node.op);
    return ops;
  };
  CHECK(nodes("tanh") == std::vector<std::string>{"Gelu"});
  CHECK(nodes("pieces") ==
        std::vector<std::string>{"Pow", "Mul", "Add", "Mul", "Tanh", "Add", "Mul", "Mul"});
}

TEST_CASE("the width of attention stays a symbol where the heads divide it") {
  CHECK(built(R"(["batch", 5, "6*size"])", R"({"type": "attention", "heads": 3})",
              R"({"size": 4})") == "f32[batch,5,6*size] 144*size*size + 24*size");
}

TEST_CASE("layers refer to layers of their list and of those around it") {
  CHECK(built(R"(["batch", 6])", R"({"name": "a", "type": "linear", "out": 6},
    {"name": "s", "type": "sequence", "layers": [
      {"name": "b", "type": "add", "inputs": ["input", "a"]},
      {"name": "c", "type": "concat", "inputs": ["b", "x", "previous"]}]})") == "f32[batch,18] 42");
  CHECK(built(R"(["batch", 5, 12])", R"({"name": "r", "type": "lstm", "hidden": 6},
    {"name": "h", "type": "relu", "input": "r:1"})") == "f32[1,batch,6] 480");
}

TEST_CASE("blocks take arguments and see nothing of their caller") {
  const auto config = [](const std::string& use) {
    return fmt::format(R"({{"schema": "plimsoll.model-config", "version": 1, "name": "net",
      "blocks": {{"twice": {{"parameters": {{"out": null, "factor": 2}}, "layers": [
        {{"type": "linear", "out": "factor*out"}}]}}}},
      "inputs": [{{"name": "x", "shape": ["batch", 3]}}],
      "layers": [{}]}})",
                       use);
  };
  const auto code = [&](const std::string& use) {
    const auto result = load(config(use));
    return result ? output_type(result->networks.front().graph) : result.error().front().code;
  };
  CHECK(code(R"({"type": "block", "block": "twice", "with": {"out": 4}})") == "f32[batch,8]");
  CHECK(code(R"({"type": "block", "block": "twice"})") == "E306");
  CHECK(code(R"({"type": "block", "block": "twice", "with": {"out": 4, "factr": 3}})") == "E304");
  CHECK(code(R"({"type": "block", "block": "thrice"})") == "E341");
}

TEST_CASE("frozen layers are weights that nobody trains, whatever lies in them") {
  const auto config = load(with_layers(R"(["batch", 8])", R"(
    {"name": "body", "type": "sequence", "frozen": true, "layers": [
      {"type": "linear", "out": 4, "bias": false},
      {"type": "sequence", "layers": [{"type": "linear", "out": 2, "bias": false}]}]},
    {"name": "head", "type": "linear", "out": 3, "bias": false})"));
  REQUIRE(config);
  const Graph& graph = config->networks.front().graph;
  CHECK(count(graph, WeightRole::kFrozen) == Dim(8 * 4 + 4 * 2));
  CHECK(count(graph, WeightRole::kTrained) == Dim(2 * 3));
}

TEST_CASE("a block's parameters may be lists and words, and its use may be frozen") {
  const auto config = load(R"({"schema": "plimsoll.model-config", "version": 1, "name": "net",
    "blocks": {"head": {"parameters": {"widths": [5, 2], "act": {"one_of": ["relu"]}}, "layers": [
      {"name": "fc", "type": "linear", "out": "widths[1]", "bias": false}, {"type": "act"}]}},
    "inputs": [{"name": "x", "shape": ["batch", 3]}],
    "layers": [{"name": "one", "type": "block", "block": "head", "frozen": true, "retained": true},
               {"name": "two", "type": "linear", "out": 7, "bias": false}]})");
  REQUIRE(config);
  const Graph& graph = config->networks.front().graph;
  CHECK(count(graph, WeightRole::kFrozen) == Dim(3 * 2));
  CHECK(count(graph, WeightRole::kTrained) == Dim(2 * 7));
  CHECK(graph.outputs.size() == 2);  // what the program holds, too
}

TEST_CASE("what a layer makes is local to the module around it, where the config says so") {
  const auto config = load(with_layers(R"(["batch", 8])", R"(
    {"name": "base", "type": "sequence", "local": true, "layers": [
      {"name": "h", "type": "repeat", "count": 2, "layers": [
        {"name": "attn", "type": "sequence", "local": true, "layers": [
          {"name": "up", "type": "linear", "out": 8},
          {"name": "down", "type": "linear", "out": 8}]},
        {"name": "act", "type": "relu"}]}]})"));
  REQUIRE(config);
  const Graph& graph = config->networks.front().graph;
  REQUIRE(graph.nodes.size() == 6);
  CHECK(graph.nodes[0].notes.local_to.empty());
  CHECK(graph.nodes[1].notes.local_to == "base.h.0");
  CHECK(graph.nodes[4].notes.local_to == "base.h.1");
  CHECK(graph.nodes[5].notes.local_to == ".");
}

TEST_CASE("a repeat gives on all outputs of a round, or one round's beside the last") {
  const auto config = load(with_layers(R"(["batch", 8])", R"(
    {"name": "turns", "type": "repeat", "count": 3, "inputs": ["x", "x"], "layers": [
      {"name": "next", "type": "add", "inputs": ["input", "input:1"]},
      {"name": "both", "type": "identity", "inputs": ["input:1", "next"]}]},
    {"name": "blocks", "type": "repeat", "count": 3, "also": 1, "input": "turns:1", "layers": [
      {"name": "fc", "type": "linear", "out": "4 + i", "bias": false}]},
    {"name": "under", "type": "sequence", "under": "somewhere.else", "input": "blocks:1", "layers": [
      {"name": "fc", "type": "linear", "out": 2, "bias": false}]})"));
  REQUIRE(config);
  const Graph& graph = config->networks.front().graph;
  CHECK(count(graph, WeightRole::kTrained) == Dim(8 * 4 + 4 * 5 + 5 * 6 + 4 * 2));
  CHECK(std::ranges::any_of(graph.tensors,
                            [](const Tensor& t) { return t.name == "somewhere.else.fc.weight"; }));
}

TEST_CASE("what is pushed is popped, the last or the first, once") {
  const std::string down = R"({"name": "down", "type": "repeat", "count": 3, "layers": [
      {"type": "linear", "out": "4 + i", "bias": false}, {"type": "push"}]})";
  const auto popped = [&](const std::string& pops) {
    return built(R"(["batch", 8])", down + ", " + pops);
  };
  CHECK(popped(R"({"type": "pop"})") == "f32[batch,6] 82");
  CHECK(popped(R"({"type": "pop", "first": true})") == "f32[batch,4] 82");
  CHECK(popped(R"({"type": "pop"}, {"type": "pop"})") == "f32[batch,5] 82");
  CHECK(popped(R"({"type": "pop", "stack": "others"})").starts_with("E341"));
  CHECK(popped(R"({"name": "up", "type": "repeat", "count": 4, "layers": [{"type": "pop"}]})")
            .starts_with("E341"));
}

TEST_CASE("a block's use may share the weights of an earlier one") {
  const auto config = [](const std::string& shape, const std::string& use) {
    return load(fmt::format(
        R"({{"schema": "plimsoll.model-config", "version": 1, "name": "net",
      "blocks": {{"head": {{"layers": [{{"name": "fc", "type": "linear", "out": 5}}]}}}},
      "inputs": [{{"name": "x", "shape": ["batch", 3]}}, {{"name": "y", "shape": {}}}],
      "layers": [{{"name": "one", "type": "block", "block": "head", "input": "x"}}, {}]}})",
        shape, use));
  };
  const std::string use =
      R"({"name": "two", "type": "block", "block": "head", "input": "y", "same_as": "one"})";
  const auto shared = config(R"(["batch", 3])", use);
  REQUIRE(shared);
  CHECK(trained(shared->networks.front().graph) == Dim(3 * 5 + 5));
  CHECK(config(R"(["batch", 4])", use).error().front().code == "E341");
  CHECK(config(R"(["batch", 3])",
               R"({"type": "block", "block": "head", "input": "y", "same_as": "three"})")
            .error()
            .front()
            .code == "E341");
}

TEST_CASE("inside a repeat, a block's earlier use is named as its list has it") {
  const auto model = load(R"({"schema": "plimsoll.model-config", "version": 1, "name": "net",
      "blocks": {"head": {"layers": [{"name": "fc", "type": "linear", "out": 3}]}},
      "inputs": [{"name": "x", "shape": ["batch", 3]}],
      "layers": [{"name": "rounds", "type": "repeat", "count": 2, "layers": [
        {"name": "one", "type": "block", "block": "head"},
        {"name": "two", "type": "block", "block": "head", "same_as": "one"}]}]})");
  REQUIRE(model);
  CHECK(trained(model->networks.front().graph) == Dim(2 * (3 * 3 + 3)));
}

TEST_CASE("a loss that does not count needs no output") {
  const auto config = [](const std::string& head) {
    return load(R"({"schema": "plimsoll.model-config", "version": 1, "name": "net",
      "parameters": {"head": )" +
                head +
                R"(}, "inputs": [{"name": "x", "shape": ["batch", 3]}],
      "layers": [{"name": "body", "type": "linear", "out": 4},
        {"name": "heads", "type": "repeat", "count": "head", "layers": [{"type": "linear", "out": 2}]}],
      "loss": [{"type": "mse", "output": "body"}, {"type": "bce", "output": "heads", "when": "head"}]})");
  };
  const auto with = config("1"), without = config("0");
  REQUIRE(with);
  REQUIRE(without);
  CHECK(with->networks.front().losses.size() == 2);
  CHECK(with->networks.front().graph.outputs.size() == 2);
  CHECK(without->networks.front().losses.size() == 1);
  CHECK(output_type(without->networks.front().graph) == "f32[batch,4]");
}

TEST_CASE("several networks make one step") {
  const auto config = load(R"({"schema": "plimsoll.model-config", "version": 1, "name": "gan",
    "parameters": {"steps": 5},
    "networks": {
      "g": {"inputs": [{"name": "z", "shape": ["batch", 4]}], "layers": [{"type": "linear", "out": 8}]},
      "d": {"inputs": [{"name": "x", "shape": ["batch", 8]}], "layers": [{"type": "linear", "out": 1}], "loss": "bce"}},
    "schedule": [{"train": "d", "forward_only": ["g"], "passes": 2, "gradient_penalty": true, "repeat": "steps"},
                 {"train": "g", "through": ["d"]}]})");
  REQUIRE_MESSAGE(config, config.error().front().message);
  REQUIRE(config->networks.size() == 2);
  CHECK(config->networks[0].name == "g");
  CHECK(config->networks[1].losses.front().kind == Loss::kBce);
  REQUIRE(config->schedule.size() == 2);
  CHECK(config->schedule[0].repeat == 5);
  CHECK(config->schedule[0].gradient_penalty);
  CHECK(config->schedule[1].through == std::vector<std::string>{"d"});
}

TEST_CASE("settings are checked against the parameters") {
  const std::string text = with_layers(R"(["batch", 3])", R"({"type": "act"})",
                                       R"({"n": 3, "rate": 0.5, "act": {"one_of": ["relu", "tanh"]},
                                           "list": [1, 2]})");
  const auto code = [&](const config::Settings& set) {
    const auto result = load(text, set);
    return result ? std::string("fine") : result.error().front().code;
  };
  CHECK(code({}) == "fine");
  CHECK(code({{"act", "tanh"}, {"list", "4,5,6"}, {"rate", "0.1"}, {"n", "7"}}) == "fine");
  CHECK(code({{"act", "tan"}}) == "E134");
  CHECK(code({{"n", "7.5"}}) == "E134");
  CHECK(code({{"list", "4,,5"}}) == "E134");
  CHECK(code({{"rate", "inf"}}) == "E134");
  CHECK(code({{"m", "7"}}) == "E134");
}

TEST_CASE("the schema names every layer type with its keys") {
  const auto schema = read_json(model_config_schema(), "schema");
  REQUIRE_MESSAGE(schema, schema.error().front().message);
  const JsonValue& layers = *schema->find("$defs")->find("layer")->find("anyOf");
  REQUIRE(layers.list()->size() == config::all_layer_types().size() + 1);
  for (size_t i = 0; i < config::all_layer_types().size(); ++i) {
    const config::LayerType& type = *config::all_layer_types()[i];
    const JsonValue& properties = *(*layers.list())[i].find("properties");
    CHECK(*properties.find("type")->find("const")->string() == type.name);
    CHECK(properties.members()->size() == type.keys.size() + 9);
    if (i > 0) CHECK(config::all_layer_types()[i - 1]->name < type.name);
  }
}

TEST_CASE("the longest batch is what the config says, unless the user sets the size") {
  const auto net = [](const std::string& longest) {
    return R"({"schema": "plimsoll.model-config", "version": 1, "name": "net",
"parameters": {"words": 25, "wide": 8}, "meta": {"longest": )" +
           longest + R"(},
"inputs": [{"name": "x", "shape": ["batch", "words"]}],
"layers": [{"type": "linear", "out": "wide"}]})";
  };
  const auto config = load(net(R"({"words": 100})"));
  REQUIRE(config);
  CHECK(config->meta.longest == Binding{{"words", 100}});
  CHECK(load(net(R"({"words": 100})"), {{"words", "30"}})->meta.longest.empty());
  const auto unknown = load(net(R"({"letters": 100})"));
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().front().code == "E304");
}

}  // namespace plimsoll
