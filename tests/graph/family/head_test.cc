#include "graph/family/head.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/family/family.h"
#include "graph/json/reader.h"

namespace plimsoll {
namespace {

struct Loaded {
  Result<FamilyModel> model;
  Diagnostics warnings;
};

Loaded load(const std::string& text, const config::Settings& set = {}) {
  const auto root = read_json(text, "config.json");
  REQUIRE(root);
  Diagnostics warnings;
  auto model = load_family_model(*root, "config.json", {.set = set}, warnings);
  return {std::move(model), std::move(warnings)};
}

// Of a small BERT, with a key more.
std::string bert(const std::string& more = "") {
  return R"({"model_type": "bert", "vocab_size": 100, "hidden_size": 32, "intermediate_size": 48,
             "num_hidden_layers": 2, "num_attention_heads": 4)" +
         more + "}";
}

const Graph& graph_of(const FamilyModel& model) { return model.config.networks.front().graph; }

const Tensor* parameter(const FamilyModel& model, std::string_view name) {
  const auto& tensors = graph_of(model).tensors;
  const auto found = std::ranges::find(tensors, name, &Tensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("a config's class has its head, in place of the family's") {
  const auto plain = load(bert());
  REQUIRE(plain.model);
  CHECK(parameter(*plain.model, "cls.predictions.transform.dense.weight"));
  CHECK_FALSE(plain.model->lora.head);
  const auto classes = load(bert(R"(, "architectures": ["BertForSequenceClassification"],
                                     "id2label": {"0": "a", "1": "b", "2": "c"})"));
  REQUIRE(classes.model);
  CHECK_FALSE(parameter(*classes.model, "cls.predictions.transform.dense.weight"));
  CHECK(parameter(*classes.model, "bert.pooler.dense.weight"));
  const Tensor* const classifier = parameter(*classes.model, "classifier.weight");
  REQUIRE(classifier);
  CHECK(classifier->shape->front() == Dim(3));
  CHECK(classes.model->lora.head);
}

TEST_CASE("a head may be asked for, and is one that the family has") {
  const auto token = load(bert(), {{"head", "TokenClassification"}, {"labels", "9"}});
  REQUIRE(token.model);
  CHECK(parameter(*token.model, "classifier.weight")->shape->front() == Dim(9));
  const auto places = load(bert(), {{"head", "QuestionAnswering"}});
  REQUIRE(places.model);
  CHECK(places.model->config.networks.front().losses.size() == 2);
  const auto unknown = load(bert(), {{"head", "MultipleChoice"}});
  REQUIRE_FALSE(unknown.model);
  CHECK(unknown.model.error().front().code == "E134");
  CHECK(unknown.model.error().front().message.find("TokenClassification") != std::string::npos);
}

TEST_CASE("a class that a family has no head for is refused by name") {
  for (const char* config :
       {R"({"model_type": "clip", "architectures": ["CLIPForImageClassification"]})",
        R"({"model_type": "siglip", "architectures": ["SiglipForImageClassification"]})",
        R"({"model_type": "vit", "architectures": ["ViTForMaskedImageModeling"]})",
        R"({"model_type": "t5", "architectures": ["T5EncoderModel"]})",
        R"({"model_type": "bert", "architectures": ["BertForMultipleChoice"]})"}) {
    CAPTURE(config);
    const auto refused = load(config);
    REQUIRE_FALSE(refused.model);
    CHECK(refused.model.error().front().code == "E354");
    CHECK(refused.model.error().front().message.find("is a config of \"") != std::string::npos);
  }
}

TEST_CASE("bodies alone, and heads of words by other names, are the family's") {
  for (const char* config : {R"({"model_type": "clip", "architectures": ["CLIPModel"]})",
                             R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"]})",
                             R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]})",
                             R"({"model_type": "dinov2", "architectures": ["Dinov2Model"]})"}) {
    CAPTURE(config);
    const auto same = load(config);
    REQUIRE(same.model);
    CHECK(same.warnings.empty());
  }
}

TEST_CASE("a class of pretraining is answered as the family's, with a warning") {
  for (const std::string& config :
       {bert(R"(, "architectures": ["BertForPreTraining"])"),
        std::string(
            R"({"model_type": "wav2vec2", "architectures": ["Wav2Vec2ForPreTraining"]})")}) {
    const auto trained = load(config);
    REQUIRE(trained.model);
    const auto told = [](const Diagnostic& d) {
      return d.message.find("ForPreTraining") != std::string::npos;
    };
    CHECK(std::ranges::count_if(trained.warnings, told) == 1);
  }
}

}  // namespace plimsoll
