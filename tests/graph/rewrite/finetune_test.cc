#include "graph/rewrite/finetune.h"

#include <doctest/doctest.h>

#include <map>

#include "graph/family/family.h"
#include "graph/json/reader.h"

namespace plimsoll {
namespace {

constexpr const char* kSmallMixtral =
    R"({"model_type": "mixtral", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 1, "num_local_experts": 4,
        "vocab_size": 128})";

struct Adapted {
  Result<FinetuneReport> report = FinetuneReport{};
  std::map<std::string, std::string> shapes;  // of adapters, by name
};

Adapted adapt_small(const std::string& targets, double dropout = 0,
                    const char* config = kSmallMixtral) {
  Diagnostics warnings;
  auto model = load_family_model(*read_json(config, "config.json"), "config.json", {}, warnings);
  REQUIRE(model);
  Graph& graph = model->config.networks.front().graph;
  Adapted adapted;
  Finetune finetune{.kind = FinetuneKind::kLora, .dropout = dropout, .targets = targets};
  adapted.report = add_adapters(graph, finetune, DType::kBFloat16, model->lora);
  for (const Tensor& t : graph.tensors) {
    if (t.name.find("lora_") == std::string::npos || t.kind != TensorKind::kParameter) continue;
    std::string shape;
    for (const Dim& d : *t.shape) shape += (shape.empty() ? "" : "x") + d.text();
    adapted.shapes[t.name] = shape;
  }
  return adapted;
}

}  // namespace

// As peft 0.21 names and shapes them: rank 8, twice that where two layers are one parameter.
TEST_CASE("adapters of experts stand beside the stacked parameters, of all experts together") {
  const Adapted all = adapt_small("all-linear");
  REQUIRE(all.report);
  CHECK(all.report->adapters == 4);
  CHECK(all.report->stacked == 3);
  const std::string mlp = "model.layers.0.mlp.";
  CHECK(all.shapes.at(mlp + "experts.gate_up_proj.lora_A.weight") == "64x64");
  CHECK(all.shapes.at(mlp + "experts.gate_up_proj.lora_B.weight") == "192x64");
  CHECK(all.shapes.at(mlp + "experts.down_proj.lora_A.weight") == "32x96");
  CHECK(all.shapes.at(mlp + "experts.down_proj.lora_B.weight") == "64x32");
  CHECK(all.shapes.at(mlp + "gate.weight.lora_A.weight") == "8x64");
  CHECK(all.shapes.at(mlp + "gate.weight.lora_B.weight") == "4x8");
  const Adapted some = adapt_small("q_proj,w2");
  CHECK(some.report->adapters == 1);
  CHECK(some.report->stacked == 1);
}

TEST_CASE("adapters are in fp32, or in the type of their layer") {
  for (const bool wide : {true, false}) {
    Diagnostics warnings;
    auto model =
        load_family_model(*read_json(kSmallMixtral, "config.json"), "config.json", {}, warnings);
    REQUIRE(model);
    Graph& graph = model->config.networks.front().graph;
    for (Tensor& t : graph.tensors) {
      if (t.dtype == DType::kFloat32) t.dtype = DType::kBFloat16;
    }
    const Finetune finetune{
        .kind = FinetuneKind::kLora, .targets = "q_proj", .adapters_wide = wide};
    REQUIRE(add_adapters(graph, finetune, DType::kBFloat16, model->lora));
    size_t adapters = 0, casts = 0;
    for (const Tensor& t : graph.tensors) {
      if (t.name.find("lora_") == std::string::npos || t.kind != TensorKind::kParameter) continue;
      ++adapters;
      CHECK(t.dtype == (wide ? DType::kFloat32 : DType::kBFloat16));
    }
    for (const Node& node : graph.nodes)
      casts += node.op == "Cast" && node.module.ends_with("q_proj");
    CHECK(adapters == 2);
    CHECK(casts == (wide ? 2 : 0));
  }
}

TEST_CASE("adapters of part of a parameter are refused, and dropout of experts' adapters") {
  CHECK(adapt_small("w1").report.error().front().code == "E265");
  CHECK(adapt_small("w1,w3").report);
  CHECK(adapt_small("all-linear", .1).report.error().front().code == "E265");
  CHECK(adapt_small("q_proj,v_proj", .1).report);
  CHECK(adapt_small("gate_proj").report.error().front().code == "E263");
}

TEST_CASE("a layer that runs several times has one adapter") {
  const Adapted all = adapt_small("all-linear", 0,
                                  R"({"model_type": "albert", "hidden_size": 64, "vocab_size": 128,
      "embedding_size": 32, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 2})");
  REQUIRE(all.report);
  CHECK(all.report->adapters == 8);  // six of its layer, one behind the embeddings, one of the head
  CHECK(all.shapes.size() == 2 * all.report->adapters);
}

// WavLM's attention reads the weights of its layers itself.
TEST_CASE("an adapter whose layer other code reads never runs") {
  const Adapted all = adapt_small("all-linear", 0, R"({"model_type": "wavlm", "hidden_size": 64,
      "intermediate_size": 96, "num_hidden_layers": 1, "num_attention_heads": 2,
      "conv_dim": [16, 16, 16, 16, 16, 16, 16]})");
  REQUIRE(all.report);
  const std::string layer = "wav2vec2.encoder.layers.0.";
  CHECK(all.shapes.contains(layer + "feed_forward.output_dense.lora_A.weight"));
  CHECK_FALSE(all.shapes.contains(layer + "attention.q_proj.lora_A.weight"));
}

}  // namespace plimsoll
