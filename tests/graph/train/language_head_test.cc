#include "graph/train/language_head.h"

#include <doctest/doctest.h>

#include "graph/family/family.h"
#include "graph/json/reader.h"
#include "graph/rewrite/finetune.h"

namespace plimsoll {
namespace {

Graph graph_of(const char* config) {
  const auto root = read_json(config, "config.json");
  REQUIRE(root);
  Diagnostics warnings;
  auto model = load_family_model(*root, "config.json", {}, warnings);
  REQUIRE(model);
  return std::move(model->config.networks.front().graph);
}

}  // namespace

TEST_CASE("the head of a language model is its last linear layer and what follows it") {
  const Graph llama = graph_of(R"({"model_type": "llama", "num_hidden_layers": 1})");
  const auto head = find_language_head(llama, llama.outputs);
  REQUIRE(head);
  CHECK(head->first + 1 == llama.nodes.size());
  CHECK(llama.tensors[head->weight].name == "lm_head.weight");
  CHECK(head->scores == llama.outputs.front());
  // Scores that are capped: a division, a tanh, a product.
  const Graph gemma = graph_of(R"({"model_type": "gemma2", "num_hidden_layers": 1})");
  const auto capped = find_language_head(gemma, gemma.outputs);
  REQUIRE(capped);
  CHECK(capped->first + 1 < gemma.nodes.size());
  CHECK(gemma.nodes[capped->first].op == "Linear");
}

TEST_CASE("the head of a language model has its adapter") {
  const char* config =
      R"({"model_type": "llama", "num_hidden_layers": 1, "tie_word_embeddings": false})";
  const Graph plain = graph_of(config);
  const NodeId layer = find_language_head(plain, plain.outputs)->first;
  for (const double dropout : {0.0, 0.1}) {
    Graph adapted = graph_of(config);
    const Finetune finetune{
        .kind = FinetuneKind::kLora, .dropout = dropout, .targets = "q_proj,lm_head"};
    REQUIRE(add_adapters(adapted, finetune, DType::kBFloat16, {}));
    const auto head = find_language_head(adapted, adapted.outputs);
    REQUIRE(head);
    CHECK_FALSE(head->plain);
    CHECK(adapted.tensors[head->weight].name == "lm_head.weight");
    CHECK(adapted.nodes.size() - head->first > plain.nodes.size() - layer);
    Recipe recipe{.loss = Loss::kCausalLm, .loss_form = LossForm::kChunked};
    CHECK(head_of_loss(recipe, adapted, adapted.outputs));
    recipe.loss_form = LossForm::kFusedLinear;
    CHECK_FALSE(head_of_loss(recipe, adapted, adapted.outputs));
  }
}

TEST_CASE("a network whose hidden states are given out too has no head of the loss's") {
  const Graph llama = graph_of(R"({"model_type": "llama", "num_hidden_layers": 1})");
  const auto head = find_language_head(llama, llama.outputs);
  REQUIRE(head);
  CHECK_FALSE(find_language_head(llama, {head->scores, head->hidden}));
  CHECK_FALSE(find_language_head(llama, {head->hidden}));
  CHECK_FALSE(find_language_head(llama, {}));
}

}  // namespace plimsoll
