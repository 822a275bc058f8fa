// Heads on a family's base: which class of transformers a config or --set names.
#include "graph/family/head.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "graph/family/family.h"
#include "graph/json/reader.h"

namespace plimsoll {
namespace {

struct Answer {
  Result<FamilyModel> model;
  Diagnostics warnings;
};

Answer answer_of(const std::string& config, const config::Settings& set = {}) {
  Answer answer;
  const auto root = read_json(config, "config.json");
  REQUIRE(root);
  answer.model =
      load_family_model(*root, "config.json", {.set = set, .symbols = {}}, answer.warnings);
  return answer;
}

int64_t parameters_of(const Answer& answer) {
  REQUIRE(answer.model);
  int64_t sum = 0;
  for (const Tensor& t : answer.model->config.networks.front().graph.tensors) {
    if (t.kind == TensorKind::kParameter && t.origin == Origin::kAuthored && !t.buffer &&
        is_float(t.dtype))
      sum += elements(*t.shape).constant().value_or(0);
  }
  return sum;
}

}  // namespace

TEST_CASE("head: a config's architecture is the class that is answered for") {
  // Counted on transformers 5.24's classes with the defaults of their configurations.
  const struct {
    const char* config;
    int64_t parameters;
  } cases[] = {
      {R"({"model_type": "bert", "architectures": ["BertModel"]})", 109482240},
      {R"({"model_type": "roberta", "architectures": ["RobertaModel"]})", 124644864},
      {R"({"model_type": "distilbert", "architectures": ["DistilBertModel"]})", 66362880},
      {R"({"model_type": "modernbert", "architectures": ["ModernBertModel"]})", 149014272},
      {R"({"model_type": "vit", "architectures": ["ViTModel"]})", 86389248},
      {R"({"model_type": "dinov2", "architectures": ["Dinov2Model"]})", 85725696},
      {R"({"model_type": "gpt2", "architectures": ["GPT2Model"]})", 124439808},
      {R"({"model_type": "llama", "architectures": ["LlamaModel"]})", 6607343616},
      {R"({"model_type": "clip", "architectures": ["CLIPForImageClassification"]})", 87457538},
      {R"({"model_type": "siglip", "architectures": ["SiglipForImageClassification"]})", 92885762},
      {R"({"model_type": "wav2vec2", "architectures": ["Wav2Vec2ForSequenceClassification"]})",
       94569090},
  };
  for (const auto& one : cases) {
    CAPTURE(one.config);
    const Answer answer = answer_of(one.config);
    CHECK(parameters_of(answer) == one.parameters);
    CHECK(std::ranges::count(answer.warnings, "W361", &Diagnostic::code) == 0);
  }
}

TEST_CASE("head: --set names one for a config without, and how many labels it has") {
  const std::string bert = R"({"model_type": "bert", "architectures": ["BertForMaskedLM"]})";
  const int64_t two = parameters_of(answer_of(bert, {{"head", "ForSequenceClassification"}}));
  CHECK(two == 109483778);  // transformers' BertForSequenceClassification
  const int64_t five =
      parameters_of(answer_of(bert, {{"head", "BertForSequenceClassification"}, {"labels", "5"}}));
  CHECK(five == two + 3 * (768 + 1));
  CHECK(parameters_of(answer_of(bert, {{"head", "ForMaskedLM"}})) ==
        parameters_of(answer_of(bert)));
}

TEST_CASE("head: a language model's class by another name is the family's") {
  for (
      const char* config :
      {R"({"model_type": "llama", "architectures": ["LLaMAForCausalLM"]})",
       R"({"model_type": "t5", "architectures": ["T5WithLMHeadModel"]})",
       R"({"model_type": "chatglm", "architectures": ["ChatGLMModel"], "padded_vocab_size": 65024})",
       R"({"model_type": "gpt2"})"}) {
    CAPTURE(config);
    const Answer answer = answer_of(config);
    CHECK(answer.model);
    CHECK(std::ranges::count(answer.warnings, "W361", &Diagnostic::code) == 0);
  }
}

TEST_CASE("head: a class that no row knows is a warning, a wrong --set an error") {
  const Answer encoder = answer_of(R"({"model_type": "t5", "architectures": ["T5EncoderModel"]})");
  REQUIRE(encoder.model);
  REQUIRE(encoder.warnings.size() == 1);
  CHECK(encoder.warnings.front().code == "W361");
  const Answer wrong = answer_of(R"({"model_type": "llama"})", {{"head", "ForMultipleChoice"}});
  REQUIRE_FALSE(wrong.model);
  CHECK(wrong.model.error().front().code == "E134");
  CHECK(wrong.model.error().front().help.find("ForSequenceClassification") != std::string::npos);
}

}  // namespace plimsoll
