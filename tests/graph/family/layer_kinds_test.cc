// Configs that say of each layer what it is.
#include <doctest/doctest.h>

#include <algorithm>

#include "graph/family/family.h"
#include "graph/json/reader.h"

namespace plimsoll {
namespace {

Result<FamilyModel> load_family(const std::string& text) {
  const auto root = read_json(text, "config.json");
  REQUIRE(root);
  Diagnostics warnings;
  return load_family_model(*root, "config.json", {}, warnings);
}

const Graph& graph_of(const Result<FamilyModel>& model) {
  REQUIRE(model);
  return model->config.networks.front().graph;
}

int64_t parameters_that_end(const Graph& graph, std::string_view end) {
  return std::ranges::count_if(graph.tensors,
                               [&](const Tensor& t) { return t.name.ends_with(end); });
}

std::string nemotron_h(const std::string& kinds) {
  return R"({"model_type": "nemotron_h", "vocab_size": 100, "hidden_size": 32, "head_dim": 8,
             "num_attention_heads": 4, "num_key_value_heads": 2, "mamba_num_heads": 8,
             "mamba_head_dim": 8, "n_groups": 2, "n_routed_experts": 4, )" +
         kinds + "}";
}

}  // namespace

TEST_CASE("a word of letters and a list of words say the same of layers") {
  for (const char* kinds : {R"("hybrid_override_pattern": "MM-E*")",
                            R"("layers_block_type": ["mamba", "mamba", "mlp", "moe", "attention"])",
                            R"("layer_types": ["linear_attention", "linear_attention", "mlp", "moe",
                               "full_attention"])"}) {
    CAPTURE(kinds);
    const auto model = load_family(nemotron_h(kinds));
    const Graph& graph = graph_of(model);
    CHECK(parameters_that_end(graph, "mixer.A_log") == 2);
    CHECK(parameters_that_end(graph, "mixer.q_proj.weight") == 1);
    CHECK(parameters_that_end(graph, "mixer.gate.weight") == 1);
    CHECK(parameters_that_end(graph, "2.mixer.up_proj.weight") == 1);
  }
  const auto unknown = load_family(nemotron_h(R"("hybrid_override_pattern": "M?")"));
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().front().code == "E356");
}

TEST_CASE("an indexer's choice serves the layers behind it that have none, without gradients") {
  const auto model =
      load_family(R"({"model_type": "glm_moe_dsa", "vocab_size": 100, "hidden_size": 32,
    "intermediate_size": 48, "moe_intermediate_size": 16, "num_hidden_layers": 4,
    "num_attention_heads": 4, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "indexer_types": ["full", "shared", "shared", "full"]})");
  const Graph& graph = graph_of(model);
  CHECK(parameters_that_end(graph, "indexer.wq_b.weight") == 2);
  const auto of_indexer = [](const Node& node) {
    return node.module.find(".indexer.") != std::string::npos;
  };
  CHECK(std::ranges::count_if(graph.nodes, of_indexer) > 20);
  for (const Node& node : graph.nodes) {
    if (of_indexer(node)) CHECK(node.notes.no_grad);
    if (node.module.ends_with("self_attn.attend")) CHECK_FALSE(node.notes.no_grad);
  }
}

TEST_CASE("Gemma 3n: shares of each layer, and layers that use keys and values of another") {
  const std::string gemma = R"({"model_type": "gemma3n_text", "vocab_size": 100, "hidden_size": 32,
    "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
    "vocab_size_per_layer_input": 100, "hidden_size_per_layer_input": 8,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
    "num_kv_shared_layers": 2, "intermediate_size": [48, 48, 64, 64])";
  const auto model =
      load_family(gemma + R"(, "activation_sparsity_pattern": [0.95, 0, 0.95, 0.0]})");
  const Graph& graph = graph_of(model);
  CHECK(parameters_that_end(graph, "self_attn.q_proj.weight") == 4);
  CHECK(parameters_that_end(graph, "self_attn.k_proj.weight") == 2);
  CHECK(std::ranges::count(graph.nodes, std::string("ReduceL2"), &Node::op) == 2);
  const auto wide = std::ranges::find_if(graph.tensors, [](const Tensor& t) {
    return t.name.ends_with("layers.3.full.mlp.down_proj.weight");
  });
  REQUIRE(wide != graph.tensors.end());
  CHECK((*wide->shape)[1] == Dim(64));
  CHECK_FALSE(load_family(gemma + R"(, "activation_sparsity_pattern": [1.5]})"));
}

TEST_CASE("EmbeddingGemma keeps nothing for positions to come: they see both ways") {
  const auto causal = [](const std::string& both) {
    const auto model =
        load_family(R"({"model_type": "gemma3_text", "vocab_size": 100, "hidden_size": 32,
      "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 8, "use_bidirectional_attention": )" +
                    both + "}");
    int64_t sum = 0;
    for (const Node& node : graph_of(model).nodes) sum += node.attributes.integer("causal", 0);
    return sum;
  };
  CHECK(causal("false") == 2);
  CHECK(causal("true") == 0);
}

}  // namespace plimsoll
