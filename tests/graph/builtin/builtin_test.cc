#include "graph/builtin/builtin.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "graph/config/model_config.h"
#include "graph/ops/infer.h"
#include "graph/train/expand.h"

namespace plimsoll {
namespace {

ModelConfig load(const std::string& name, const config::Settings& set = {}) {
  const auto model = find_builtin(name);
  REQUIRE_MESSAGE(model, name);
  Diagnostics warnings;
  auto config = load_model_config(model->content, name, {.set = set}, warnings);
  REQUIRE_MESSAGE(config, name << ": " << config.error().front().message);
  return std::move(*config);
}

const Graph& network(const ModelConfig& config, const std::string& name) {
  for (const NamedGraph& network : config.networks) {
    if (network.name == name) return network.graph;
  }
  return config.networks.front().graph;
}

int64_t weights(const Graph& graph) {
  const auto kinds = classify_parameters(graph);
  int64_t count = 0;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    if (t.kind != TensorKind::kParameter || !is_weight(kinds[id])) continue;
    count += elements(*t.shape).evaluate(graph.defaults).value();
  }
  return count;
}

// flop of the forward pass in the convolutions and linear layers whose path starts with `module`.
double flop(const Graph& graph, std::string_view module) {
  double sum = 0;
  for (const Node& node : graph.nodes) {
    const bool conv = node.op == "Conv";
    if ((!conv && node.op != "Linear") || !node.module.starts_with(module)) continue;
    const Shape& weight = *graph.tensors[node.inputs[1]].shape;
    const Shape& out = *graph.tensors[node.outputs[0]].shape;
    // Each output element takes a row of the weight.
    const Dim work = Dim(2) * elements(out) * elements(weight, 1, weight.size());
    sum += static_cast<double>(work.evaluate(graph.defaults).value());
  }
  return sum;
}

struct Published {
  const char* model;
  const char* network;
  config::Settings set;
  int64_t parameters;
  const char* source;
};

// "by hand": the sum over the layers, where no publication counts the same network.
const std::vector<Published>& published() {
  static const std::vector<Published> kRows = {
      {"alexnet-kim", "", {}, 62'378'344, "AlexNet without groups, e.g. Kim et al. Table II: 62 M"},
      {"alexnet-owt", "", {}, 61'100'840, "torchvision's AlexNet"},
      {"alexnet-towers",
       "",
       {},
       60'522'856,
       "by hand; fmassa/optimize-net, README.md: 924 MB twice over in 8 bytes"},
      {"googlenet-multigpu",
       "",
       {},
       19'124'528,
       "by hand; fmassa/optimize-net, README.md: 292 MB twice over in 8 bytes"},
      {"cnn-torres", "", {}, 89'450, "by hand: 896 + 18496 + 36928 + 32800 + 330"},
      {"mlp", "", {}, 584'535, "Mahendran, Table 1, row 1"},
      {"mlp", "", {{"widths", "48,236,233,318,245,139"}}, 292'626, "Mahendran, Table 1, row 2"},
      {"mlp",
       "",
       {{"features", "3072"}, {"widths", "233,425,299,363,102"}},
       1'089'891,
       "Mahendran, Tables 4 and 5, row 1"},
      {"mlp",
       "",
       {{"features", "2346"},
        {"widths", "1173,586"},
        {"outputs", "197"},
        {"batch_norm", "1"},
        {"dropout", "0.2"}},
       3'560'152,
       "GPUMemNet's first row"},
      {"vgg-a", "", {}, 132'863'336, "arXiv:1409.1556 Table 2: 133 M; torchvision's vgg11"},
      {"overfeat", "", {}, 145'920'872, "arXiv:1312.6229: 145 M"},
      {"googlenet-v1", "", {}, 6'998'552, "BVLC GoogLeNet without auxiliary classifiers"},
      {"seq2seq-nmt", "", {}, 27'198'464, "by hand"},
      {"seq2seq-sockeye", "", {}, 26'682'397, "by hand"},
      {"transformer-base", "", {}, 63'082'496, "by hand; arXiv:1706.03762 Table 3 says 65 M"},
      {"faster-rcnn-r101",
       "",
       {},
       47'462'111,
       "by hand: torchvision's resnet101 without its head 42500160, RPN 4746806, heads 215145"},
      {"rcnn-fpn",
       "",
       {},
       41'738'276,
       "by hand: ResNet-50's convolutions 23454912, biases 26560, scales 7680, pyramid 3344384, "
       "RPN "
       "593935, head 14310805"},
      {"rcnn-c4",
       "",
       {},
       33'834'080,
       "by hand: body and fifth stage 23489152, RPN 9515083, 829845"},
      {"retinanet", "", {}, 37'949'812, "by hand: body 23489152, pyramid 7997440, heads 6463220"},
      {"inception-v3-mxnet",
       "",
       {},
       23'834'568,
       "torchvision's inception_v3 without its auxiliary classifier"},
      {"inception-v4", "", {}, 42'679'816, "timm's inception_v4"},
      {"inception-resnet-v2", "", {}, 55'843'464, "timm's inception_resnet_v2"},
      {"deep-speech-2", "", {}, 180'973'213, "by hand"},
      {"wgan", "generator", {}, 8'540'483, "by hand"},
      {"wgan", "critic", {}, 7'491'841, "by hand"},
      {"a3c", "", {}, 677'943, "by hand: 4112 + 8224 + 663808 + 1542 + 257"},
      {"dcgan", "generator", {}, 3'576'704, "PyTorch's DCGAN example"},
      {"dcgan", "discriminator", {}, 2'765'568, "PyTorch's DCGAN example"},
      {"gnmt", "", {}, 280'928'512, "by hand; arXiv:1701.06538 Table 4 says 278 M"},
      {"bert-base", "", {{"masked_lm", "0"}}, 109'482'240, "Hugging Face's BertModel, 110 M"},
      {"bert-large", "", {{"masked_lm", "0"}}, 335'141'888, "Hugging Face's BertModel, 340 M"},
      {"gpt2", "", {}, 124'439'808, "the released weights, 124 M"},
      {"gpt2-large", "", {}, 774'030'080, "the released weights, 774 M"},
      {"megatron-gpt", "", {}, 354'871'296, "Megatron-LM's 345M as it counts itself"},
      {"megatron-gpt",
       "",
       {{"vocabulary", "50257"}},
       354'871'296,
       "the same: 50,257 words get 50,304 rows"},
      {"mpt",
       "",
       {{"layers", "48"}, {"heads", "56"}, {"hidden", "7168"}},
       29'975'214'080,
       "llm-foundry's mpt-30b, scripts/train/benchmarking/README.md"},
      {"inception-bn", "", {}, 11'295'240, "MXNet's inception-bn: 11.3 M"},
      {"inception-v2-slim", "", {}, 11'188'288, "by hand"},
      {"inception-21k", "", {}, 12'257'944, "counted in the net file: weights, biases, norms"},
      {"resnet-slim", "", {}, 25'557'032, "as torchvision's resnet50: strides add no weight"},
      {"alexnet-bvlc", "", {}, 60'965'224, "bvlc_alexnet.caffemodel"},
      {"resnet-v2", "", {}, 64'666'280, "by hand; arXiv:1603.05027 names no figure"},
      {"resnet-v2",
       "",
       {{"blocks", "18,18,18"},
        {"planes", "16,32,64"},
        {"stem", "16"},
        {"cifar", "1"},
        {"classes", "10"}},
       1'703'258,
       "arXiv:1603.05027: ResNet-164, 1.7 M"},
      {"resnet-variant", "", {}, 28'088'024, "timm's seresnet50"},
      {"resnet-variant",
       "",
       {{"blocks", "18,18,18"},
        {"planes", "16,32,64"},
        {"squeeze", "0"},
        {"bottleneck", "0"},
        {"cifar", "1"},
        {"classes", "10"}},
       1'730'714,
       "by hand; arXiv:1512.03385 Table 6: ResNet-110 has 1.7 M"},
      {"resnet-variant",
       "",
       {{"blocks", "18,18,18"},
        {"planes", "16,32,64"},
        {"squeeze", "0"},
        {"bottleneck", "0"},
        {"cifar", "1"},
        {"classes", "10"},
        {"norms", "0"}},
       1'722'426,
       "as above without 8288 scales and shifts"},
      {"resnet-variant",
       "",
       {{"squeeze", "0"},
        {"blocks", "2,2,2,2"},
        {"bottleneck", "0"},
        {"deep_stem", "1"},
        {"average_down", "1"}},
       11'708'744,
       "timm's resnet18d"},
      {"resnet-variant",
       "",
       {{"squeeze", "0"}, {"blocks", "3,4,23,3"}, {"groups", "32"}, {"group_width", "4"}},
       44'177'704,
       "timm's resnext101_32x4d"},
      {"regnet-y", "", {}, 4'344'144, "timm's regnety_004"},
      {"regnet-y",
       "",
       {{"depths", "2,6,12,2"},
        {"widths", "128,192,512,1088"},
        {"stems", "32,128,192,512"},
        {"group_width", "64"}},
       20'646'656,
       "timm's regnety_040"},
      {"vit", "", {}, 22'050'664, "timm's vit_small_patch16_224"},
      {"vit", "", {{"heads", "3"}}, 5'717'416, "timm's vit_tiny_patch16_224"},
      {"cnn-cifar", "", {}, 3'441'592, "by hand: 1400 + 22550 + 45100 + 90100 + 3277312 + 5130"},
      {"gru-imdb", "", {}, 3'818'302, "by hand: 3750000 + 68100 + 202"},
      {"densenet-cifar", "", {}, 769'162, "arXiv:1608.06993 Table 2: 0.8 M"},
      {"densenet-cifar",
       "",
       {{"growth", "40"}, {"layers", "31"}, {"widths", "1320,1900,2190"}},
       25'624'430,
       "arXiv:1608.06993 Table 2: 25.6 M"},
      {"cnn-bn-torres", "", {}, 2'102'282, "by hand: 1920 + 74112 + 295680 + 1730570"},
      {"lstm-lm", "", {}, 13'987'678, "by hand: 6655600 + 643200 + 6688878"},
  };
  return kRows;
}

std::set<std::string> config_names() {
  std::set<std::string> names;
  for (const BuiltinRow& row : builtin_models()) {
    const auto model = find_builtin(row.name);
    if (model && model->kind == BuiltinKind::kJson) names.insert(row.name);
  }
  return names;
}

}  // namespace

TEST_CASE("built-in models have the published number of parameters") {
  for (const Published& row : published()) {
    CAPTURE(row.model);
    CAPTURE(row.network);
    CAPTURE(row.source);
    const ModelConfig config = load(row.model, row.set);
    CHECK(weights(network(config, row.network)) == row.parameters);
  }
}

TEST_CASE("every built-in config is counted above, described and sourced") {
  std::set<std::string> counted;
  for (const Published& row : published()) counted.insert(row.model);
  CHECK(counted == config_names());
  for (const std::string& name : counted) {
    CAPTURE(name);
    const auto model = find_builtin(name);
    REQUIRE(model);
    CHECK_FALSE(model->description.empty());
    CHECK_FALSE(model->source.empty());
    const ModelConfig config = load(name);
    CHECK(config.name == name);
    CHECK(config.meta.description == model->description);
    CHECK_FALSE(config.meta.sample_unit.empty());
    for (const NamedGraph& network : config.networks) CHECK_FALSE(network.losses.empty());
  }
}

TEST_CASE("a built-in's graph is verified and inferred again as it was built") {
  for (const std::string& name : config_names()) {
    CAPTURE(name);
    for (NamedGraph& network : load(name).networks) {
      Graph graph = network.graph;
      Diagnostics warnings;
      REQUIRE(verify(graph, warnings));
      Decider decider(graph.defaults);
      const auto inferred = infer(graph, decider, warnings);
      REQUIRE_MESSAGE(inferred, inferred.error().front().message);
      CHECK(warnings.empty());
      for (const TensorId out : graph.outputs) {
        CHECK(*graph.tensors[out].shape == *network.graph.tensors[out].shape);
      }
    }
  }
}

// Kim et al. Table II per batch of 256, with 13x13 outputs for conv3 to conv5, and per image.
TEST_CASE("AlexNet's convolutions and linear layers do Kim's work") {
  const ModelConfig config = load("alexnet-kim");
  const Graph& graph = config.networks.front().graph;
  const auto giga = [&](const char* module) { return flop(graph, module) / 1e9; };
  CHECK(giga("conv1") == doctest::Approx(54.0).epsilon(0.002));
  CHECK(giga("conv2") == doctest::Approx(229.3).epsilon(0.001));
  CHECK(giga("conv3") == doctest::Approx(76.6).epsilon(0.001));
  CHECK(giga("conv4") == doctest::Approx(114.8).epsilon(0.001));
  CHECK(giga("conv5") == doctest::Approx(76.6).epsilon(0.001));
  CHECK(giga("fc1") / 256 * 1e3 == doctest::Approx(75.5).epsilon(0.001));
  CHECK(giga("fc2") / 256 * 1e3 == doctest::Approx(33.6).epsilon(0.002));
  CHECK(giga("fc3") / 256 * 1e3 == doctest::Approx(8.19).epsilon(0.001));
  // "94 % of the parameters are in the fully connected layers"
  int64_t linear = 0;
  for (const Node& node : graph.nodes) {
    if (node.op != "Linear") continue;
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      const Shape& shape = *graph.tensors[node.inputs[i]].shape;
      linear += elements(shape).evaluate(graph.defaults).value();
    }
  }
  CHECK(static_cast<double>(linear) / 62'378'344 == doctest::Approx(0.94).epsilon(0.005));
}

TEST_CASE("forward work agrees with what the papers print") {
  const auto per_image = [](const char* name) {
    const ModelConfig config = load(name, {{"batch", "1"}});
    return flop(config.networks.front().graph, "") / 2e9;
  };
  CHECK(per_image("vgg-a") == doctest::Approx(7.6).epsilon(0.01));  // torchvision: 7.61 GFLOPS
  CHECK(per_image("overfeat") ==
        doctest::Approx(2.81).epsilon(0.01));  // Table 1: 2.8 G connections
  CHECK(per_image("googlenet-v1") ==
        doctest::Approx(1.5).epsilon(0.06));  // "1.5 billion multiply-adds"
}

TEST_CASE("the schedule of a built-in can be set") {
  const ModelConfig wgan = load("wgan", {{"critic_steps", "3"}});
  REQUIRE(wgan.schedule.size() == 2);
  CHECK(wgan.schedule[0].network == "critic");
  CHECK(wgan.schedule[0].repeat == 3);
  CHECK(wgan.schedule[0].gradient_penalty);
  CHECK(wgan.schedule[1].through == std::vector<std::string>{"critic"});
}

TEST_CASE("models are found by the names that measured runs give them") {
  const auto caffe2 = find_builtin("alexnet-owt (caffe2)");
  REQUIRE(caffe2);
  CHECK(caffe2->name == "alexnet-owt");
  CHECK(caffe2->settings.at("image") == "227");
  const auto wrong = find_builtin("alexnet-own");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().front().code == "E150");
  CHECK(wrong.error().front().help == "did you mean alexnet-owt?");
  CHECK_FALSE(find_builtin("aliases"));
  CHECK_FALSE(find_builtin(""));
  const auto published = find_builtin("santacoder of transformers before 4.49");
  REQUIRE(published);
  CHECK(published->published == "bigcode/gpt_bigcode-santacoder");
  CHECK(published->settings.at("caches") == "1");
  std::set<std::string> configs = config_names();
  for (const auto& row : builtin_aliases()) {
    const std::string& alias = row.first;
    const std::string& model = row.second;
    CAPTURE(alias);
    CHECK(alias != model);
    if (!configs.count(model)) continue;  // one of torchvision's
    const auto found = find_builtin(alias);
    REQUIRE(found);
    load(model, {found->settings.begin(), found->settings.end()});
  }
}

}  // namespace plimsoll
