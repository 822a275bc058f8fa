#include "graph/rewrite/join_projections.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "graph/family/family.h"
#include "graph/json/reader.h"
#include "graph/rewrite/finetune.h"

namespace plimsoll {
namespace {

constexpr const char* kSmallLlama =
    R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 128,
        "tie_word_embeddings": true})";
constexpr const char* kSmallNeox =
    R"({"model_type": "gpt_neox", "hidden_size": 64, "intermediate_size": 96,
        "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 128})";
constexpr const char* kSmallPhi =
    R"({"model_type": "phi3", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 128})";

// Shapes of parameters that something reads, by name.
std::map<std::string, std::string> parameters(const Graph& graph) {
  std::map<std::string, std::string> shapes;
  for (const Node& node : graph.nodes) {
    for (const TensorId in : node.inputs) {
      if (in == kNoTensor || graph.tensors[in].kind != TensorKind::kParameter) continue;
      std::string shape;
      for (const Dim& d : *graph.tensors[in].shape) shape += (shape.empty() ? "" : "x") + d.text();
      shapes[graph.tensors[in].name] = shape;
    }
  }
  return shapes;
}

std::map<std::string, std::string> adapted(const char* config, const std::string& targets) {
  Diagnostics warnings;
  auto model = load_family_model(*read_json(config, "config.json"), "config.json", {}, warnings);
  REQUIRE(model);
  Graph& graph = model->config.networks.front().graph;
  const Finetune finetune{
      .kind = FinetuneKind::kLora, .targets = targets, .form = AdapterForm::kLitgpt};
  REQUIRE(add_adapters(graph, finetune, DType::kBFloat16, model->lora));
  return parameters(graph);
}

}  // namespace

// litgpt, lora.py: LoRAQKVLinear has rank rows for each part that is adapted.
TEST_CASE("query, key and value projections become one layer, with adapters of its parts") {
  const auto weights = adapted(kSmallLlama, "q_proj,v_proj");
  const std::string layer = "model.layers.1.self_attn.qkv_proj";
  CHECK(weights.at(layer + ".weight") == "128x64");
  CHECK(weights.at(layer + ".lora_A.0.weight") == "8x64");
  CHECK(weights.at(layer + ".lora_B.0.weight") == "64x8");
  CHECK(weights.at(layer + ".lora_B.1.weight") == "32x8");
  CHECK_FALSE(weights.contains(layer + ".lora_B.2.weight"));
  CHECK_FALSE(weights.contains("model.layers.1.self_attn.q_proj.weight"));
}

TEST_CASE("a head that reads the embedding's table gets a weight of its own") {
  const auto weights = adapted(kSmallLlama, "q_proj");
  CHECK(weights.at("lm_head.weight") == "128x64");
  CHECK(weights.at("model.embed_tokens.weight") == "128x64");
}

TEST_CASE("a layer that is all three already has adapters of the parts that are named") {
  const auto weights = adapted(kSmallNeox, "q_proj,k_proj,v_proj");
  const std::string layer = "gpt_neox.layers.0.attention.query_key_value";
  for (const char* part : {"0", "1", "2"})
    CHECK(weights.at(layer + ".lora_B." + part + ".weight") == "64x8");
  CHECK_FALSE(adapted(kSmallNeox, "q_proj").contains(layer + ".lora_B.1.weight"));
}

// litgpt, model.py: LLaMAMLP has fc_1 and fc_2, each with an adapter and a dropout of its input.
TEST_CASE("a layer that is a gate and what it gates becomes two") {
  for (const char* targets : {"gate_up_proj", "gate_proj,up_proj"}) {
    const auto weights = adapted(kSmallPhi, targets);
    const std::string mlp = "model.layers.1.mlp.";
    for (const char* layer : {"gate_proj", "up_proj"}) {
      CHECK(weights.at(mlp + layer + ".weight") == "96x64");
      CHECK(weights.at(mlp + layer + ".lora_A.weight") == "8x64");
      CHECK(weights.at(mlp + layer + ".lora_B.weight") == "96x8");
    }
    CHECK_FALSE(weights.contains(mlp + "gate_up_proj.weight"));
  }
}

}  // namespace plimsoll
