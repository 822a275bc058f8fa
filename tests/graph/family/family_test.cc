#include "graph/family/family.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "graph/json/reader.h"

namespace plimsoll {
namespace {

Result<FamilyModel> load(const std::string& text, const config::Settings& set = {}) {
  const auto root = read_json(text, "config.json");
  REQUIRE(root);
  Diagnostics warnings;
  return load_family_model(*root, "config.json", {.set = set}, warnings);
}

std::string code(const std::string& text) {
  const auto model = load(text);
  return model ? "fine" : model.error().front().code;
}

// Of a small Llama, with a key more.
std::string llama(const std::string& more = "") {
  return R"({"model_type": "llama", "vocab_size": 100, "hidden_size": 32, "intermediate_size": 48,
             "num_hidden_layers": 2, "num_attention_heads": 4)" +
         (more.empty() ? "" : ", " + more) + "}";
}

bool has_parameter(const FamilyModel& model, std::string_view name) {
  const auto& tensors = model.config.networks.front().graph.tensors;
  return std::ranges::any_of(tensors, [&](const Tensor& t) { return t.name == name; });
}

}  // namespace

TEST_CASE("a config becomes its family's network, with transformers' names") {
  const auto model = load(llama());
  REQUIRE(model);
  CHECK(model->family == "llama");
  CHECK(model->dtype == DType::kUndefined);
  CHECK(model->lora.targets == "q_proj,v_proj");
  CHECK(has_parameter(*model, "model.layers.1.self_attn.q_proj.weight"));
  CHECK(has_parameter(*model, "lm_head.weight"));
  CHECK_FALSE(has_parameter(*model, "model.layers.1.self_attn.q_proj.bias"));
  CHECK(free_symbols(model->config.networks.front().graph) ==
        std::set<std::string>{"batch", "sequence"});
}

TEST_CASE("keys set parameters; null is as if the key were not there") {
  CHECK(has_parameter(*load(llama(R"("attention_bias": true)")),
                      "model.layers.0.self_attn.q_proj.bias"));
  CHECK_FALSE(has_parameter(*load(llama(R"("tie_word_embeddings": true)")), "lm_head.weight"));
  CHECK(load(llama(R"("num_key_value_heads": null, "head_dim": null)")));
  CHECK(load(llama(R"("torch_dtype": "bfloat16")"))->dtype == DType::kBFloat16);
  CHECK(load(llama(R"("rope_scaling": {"factor": 8}, "bos_token_id": 1)")));
  CHECK(load(llama(), {{"layers", "3"}})->config.parameters.size() > 10);
  CHECK(code(llama(R"("hidden_act": "gelu_new")")) == "fine");
}

TEST_CASE("what a config says and nothing reads is refused by name") {
  CHECK(code(R"({"model_type": "lama"})") == "E354");
  CHECK(code(llama(R"("n_experts": 8)")) == "E355");
  CHECK(code(llama(R"("n_experts": null)")) == "fine");
  CHECK(code(llama(R"("hidden_act": "snake")")) == "E356");
  CHECK(code(llama(R"("pretraining_tp": 2)")) == "E356");
  CHECK(code(llama(R"("attention_dropout": {})")) == "E356");
  const auto misspelt = load(llama(R"("num_hidden_layer": 2)"));
  REQUIRE_FALSE(misspelt);
  CHECK(misspelt.error().front().message.find("num_hidden_layer") != std::string::npos);
  CHECK(misspelt.error().front().help.find("num_hidden_layers") != std::string::npos);
  CHECK(misspelt.error().front().place.line == 2);
}

TEST_CASE("query heads that do not share the key heads evenly are refused") {
  CHECK(code(llama(R"("num_key_value_heads": 3)")) == "E342");
  CHECK(code(llama(R"("num_key_value_heads": 8)")) == "E342");
  CHECK(code(llama(R"("num_key_value_heads": 2)")) == "fine");
  CHECK(code(R"({"model_type": "qwen3", "num_attention_heads": 6, "num_key_value_heads": 4})") ==
        "E342");
}

TEST_CASE("a family that is like another has its layers and its own defaults") {
  const auto qwen = load(R"({"model_type": "qwen2", "vocab_size": 100, "hidden_size": 32,
    "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 2, "use_sliding_window": false, "sliding_window": 4096})");
  REQUIRE(qwen);
  CHECK(qwen->family == "qwen2");
  CHECK(has_parameter(*qwen, "model.layers.0.self_attn.q_proj.bias"));
  CHECK_FALSE(has_parameter(*qwen, "model.layers.0.self_attn.o_proj.bias"));
}

TEST_CASE("published configurations are models, by any case and without their owner") {
  for (const std::string& name : published_models()) {
    CAPTURE(name);
    const auto text = published_config(name);
    REQUIRE(text);
    const auto root = read_json(*text, name);
    REQUIRE(root);
    CHECK(root->find("source"));
    REQUIRE(root->find("config"));
    Diagnostics warnings;
    const auto model = load_family_model(*root->find("config"), name, {}, warnings);
    const std::string why = model ? "" : model.error().front().message;
    CHECK_MESSAGE(model, why);
  }
  CHECK(published_config("qwen3-8b"));
  const auto unknown = published_config("Qwen/Qwen3-8C");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().front().code == "E150");
  CHECK(unknown.error().front().help.find("hf:Qwen/Qwen3-") != std::string::npos);
  const auto meant = [](std::string_view written) {
    const auto near = published_config(written);
    REQUIRE_FALSE(near);
    return near.error().front().help;
  };
  CHECK(meant("mixtral-8x7b").find("hf:mistralai/Mixtral-8x7B-v0.1") != std::string::npos);
  CHECK(meant("Llama-3.1-8").find("hf:meta-llama/Llama-3.1-8B") != std::string::npos);
  CHECK(meant("qwen3-8c").find("hf:Qwen/Qwen3-8B") != std::string::npos);
}

TEST_CASE("a config of a quantized checkpoint says how its matrices are stored") {
  const auto model = load(llama(R"("quantization_config": {"quant_method": "awq", "bits": 4})"));
  REQUIRE(model);
  REQUIRE(model->quantize);
  CHECK(model->quantize->name == "gptq-4bit");
  CHECK_FALSE(load(llama())->quantize);
}

TEST_CASE("families serve each model type once") {
  std::set<std::string> types;
  for (const FamilyRow& row : families()) {
    CHECK_FALSE(row.description.empty());
    CHECK_FALSE(row.class_name.empty());
    for (const std::string& type : row.model_types) CHECK_MESSAGE(types.insert(type).second, type);
  }
}

namespace {

int64_t parameter_count(const FamilyModel& model) {
  int64_t sum = 0;
  for (const Tensor& t : model.config.networks.front().graph.tensors) {
    if (t.kind == TensorKind::kParameter && t.origin == Origin::kAuthored && !t.buffer &&
        is_float(t.dtype))
      sum += elements(*t.shape).constant().value_or(0);
  }
  return sum;
}

}  // namespace

TEST_CASE("keys may be read of each member of an object") {
  const std::string gemma = R"({"model_type": "gemma4_text", "num_hidden_layers": 6,
    "hidden_size_per_layer_input": 0, "attention_k_eq_v": true, )";
  const auto wide = load(gemma + R"("global_head_dim": 128, "num_global_key_value_heads": 1})");
  const auto each = load(gemma + R"("per_layer_config": {"5": {"head_dim": 128,
                                     "num_key_value_heads": 1}}})");
  REQUIRE(wide);
  REQUIRE(each);
  CHECK(parameter_count(*wide) == parameter_count(*each));
  CHECK(code(gemma + R"("per_layer_config": {"5": {"sliding_window": 128}}})") == "E355");
}

// The counts are those of transformers 5.24 on its meta device, without vision tower and projector.
TEST_CASE("models of several parts: each part's config has its family, and settings reach both") {
  const std::string tower =
      R"("vision_config": {"model_type": "clip_vision_model", "image_size": 112,
    "patch_size": 14, "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 2})";
  const std::string text = R"("text_config": {"model_type": "llama", "hidden_size": 64,
    "num_attention_heads": 2, "num_hidden_layers": 1, "vocab_size": 100})";
  const std::string llava = "{\"model_type\": \"llava\", " + tower + ", " + text + "}";
  const auto parameter = [](const FamilyModel& model, std::string_view name) {
    const auto found = std::ranges::find(model.config.parameters, name, &ConfigParameter::name);
    return found == model.config.parameters.end() ? std::string("none") : found->value;
  };
  const auto whole = load(llava);
  REQUIRE(whole);
  CHECK(whole->family == "llava");
  CHECK(parameter(*whole, "image") == "112");
  CHECK(parameter(*whole, "layers") == "1");
  CHECK(has_parameter(*whole, "model.vision_tower.encoder.layers.1.self_attn.q_proj.weight"));
  CHECK(has_parameter(*whole, "model.multi_modal_projector.linear_1.weight"));
  CHECK(has_parameter(*whole, "model.language_model.layers.0.self_attn.q_proj.weight"));
  CHECK(has_parameter(*whole, "lm_head.weight"));
  const auto larger = load(llava, {{"image", "224"}, {"vision_layers", "3"}});
  REQUIRE(larger);
  CHECK(parameter(*larger, "image") == "224");
  CHECK(has_parameter(*larger, "model.vision_tower.encoder.layers.2.self_attn.q_proj.weight"));
  const auto tied = load("{\"model_type\": \"llava\", \"tie_word_embeddings\": true, " + tower +
                         ", " + text + "}");
  REQUIRE(tied);
  CHECK_FALSE(has_parameter(*tied, "lm_head.weight"));
  CHECK(
      code(R"({"model_type": "llava", "vision_config": {"model_type": "mllama_vision_model"}})") ==
      "E354");
  CHECK(code(R"({"model_type": "llava", "text_config": {"model_type": "gpt2"}})") == "E354");
  CHECK(code(R"({"model_type": "llava", "vision_config": {"hidden_sise": 1}})") == "E355");
  CHECK(code(R"({"model_type": "llava", "projector_depth": 3})") == "E355");
  CHECK(code(R"({"model_type": "emu3", "vision_config": {}})") == "E354");
}

TEST_CASE("what transformers derives and saves is read, and a list for all layers or one number") {
  CHECK(code(R"({"model_type": "qwen3_moe", "num_hidden_layers": 1, "num_local_experts": 16})") ==
        "fine");
  CHECK(code(R"({"model_type": "deepseek_v3", "num_hidden_layers": 1, "qk_head_dim": 192})") ==
        "fine");
  const auto chosen = [](const std::string& topk) {
    const auto model = load(R"({"model_type": "hunyuan_v1_moe", "vocab_size": 100,
      "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
      "num_attention_heads": 4, "num_experts": 4, "moe_topk": )" +
                            topk + "}");
    REQUIRE(model);
    const Graph& graph = model->config.networks.front().graph;
    int64_t sum = 0;
    for (const Node& node : graph.nodes) {
      if (node.op == "TopK")
        sum += graph.tensors[node.outputs[0]].shape->back().constant().value_or(0);
    }
    return sum;
  };
  CHECK(chosen("2") == 4);
  CHECK(chosen("[2, 1]") == 3);
}

TEST_CASE("whole numbers written as reals, factors above one and empty lists are read") {
  CHECK(code(R"({"model_type": "swin", "mlp_ratio": 4.0})") == "fine");
  CHECK(code(R"({"model_type": "swin", "mlp_ratio": 4.5})") == "E134");
  const auto wide = [](const std::string& factor) {
    return code(R"({"model_type": "efficientnet", "depthwise_padding": [], "width_coefficient": )" +
                factor + "}");
  };
  CHECK(wide("1.4") == "fine");
  CHECK(wide("40") == "E356");
}

TEST_CASE("a config without an optional part has its text model alone") {
  const std::string text = R"({"model_type": "gemma4", "text_config": {"num_hidden_layers": 1},)";
  const auto alone = load(text + R"("vision_config": null})");
  REQUIRE(alone);
  CHECK(has_parameter(*alone, "model.language_model.norm.weight"));
  const auto& tensors = alone->config.networks.front().graph.tensors;
  CHECK(std::ranges::none_of(
      tensors, [](const Tensor& t) { return t.name.find("vision") != std::string::npos; }));
  CHECK(code(text + R"("audio_config": {"model_type": "gemma4_audio"}})") == "E355");
}

TEST_CASE("labels are counted where a config lists their names") {
  const std::string vit = R"({"model_type": "vit", "num_hidden_layers": 1, "id2label": )";
  const auto width = [](const FamilyModel& model) {
    const auto& tensors = model.config.networks.front().graph.tensors;
    const auto found = std::ranges::find(tensors, "classifier.weight", &Tensor::name);
    return found == tensors.end() ? 0 : (*found->shape)[0].constant().value_or(0);
  };
  const auto three = load(vit + R"({"0": "tench", "1": "goldfish", "2": "shark"}})");
  REQUIRE(three);
  CHECK(width(*three) == 3);
}

TEST_CASE("DETR: a loss of every layer of the decoder where the config asks for it") {
  const std::string detr = R"({"model_type": "detr", "backbone": "resnet18", "d_model": 32,
    "encoder_layers": 1, "decoder_layers": 3, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "num_labels": 4)";
  const auto losses = [](const FamilyModel& model) {
    return std::ranges::count(model.config.networks.front().graph.nodes,
                              std::string("SoftmaxCrossEntropyLoss"), &Node::op);
  };
  const auto last = load(detr + "}"), all = load(detr + R"(, "auxiliary_loss": true})");
  REQUIRE(last);
  REQUIRE(all);
  CHECK(losses(*last) == 1);
  CHECK(losses(*all) == 3);
  CHECK(parameter_count(*all) == parameter_count(*last));
  CHECK(code(detr + R"(, "position_embedding_type": "learned"})") == "E356");
  CHECK(code(detr + R"(, "backbone_config": {"model_type": "resnet"}})") == "E356");
}

TEST_CASE("a part may have blocks of its own, beside those of the part around it") {
  const std::string gemma = R"({"model_type": "gemma4", "text_config": {"hidden_size": 64,
    "num_hidden_layers": 2, "vocab_size": 100, "hidden_size_per_layer_input": 0},
    "vision_config": {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1,
    "num_key_value_heads": 1)";
  const auto whole = load(gemma + "}}");
  REQUIRE(whole);
  CHECK(
      has_parameter(*whole, "model.vision_tower.encoder.layers.0.self_attn.q_proj.linear.weight"));
  const auto with_sound = load(gemma + R"(}, "audio_config": {"model_type": "gemma4_audio",
    "num_hidden_layers": 1}})");
  REQUIRE(with_sound);
  CHECK(has_parameter(*with_sound, "model.audio_tower.layers.0.post.linear.weight"));
  CHECK_FALSE(has_parameter(*whole, "model.audio_tower.layers.0.post.linear.weight"));
}

TEST_CASE("older releases of GPT-BigCode return keys and values of all layers") {
  const std::string config = R"({"model_type": "gpt_bigcode", "n_layer": 3})";
  const auto outputs = [](const FamilyModel& model) {
    return model.config.networks.front().graph.outputs.size();
  };
  CHECK(outputs(*load(config)) == 1);
  CHECK(outputs(*load(config, {{"caches", "1"}})) == 4);
}

TEST_CASE("a config of diffusers is read by its class") {
  CHECK(load(R"({"_class_name": "DiTTransformer2DModel", "_diffusers_version": "0.12.0",
                 "num_layers": 1})"));
  CHECK(code(R"({"_class_name": "DiTTransformer2DModel", "norm_type": "ada_norm"})") == "E356");
}

TEST_CASE("vision-language models: the text model is asked for, and has transformers' parameters") {
  struct Case {
    const char* config;
    int64_t parameters;
    const char* family;
  };
  const Case cases[] = {
      {R"({"model_type": "llava", "torch_dtype": "float16", "image_token_index": 32000,
           "text_config": {"model_type": "llama", "max_position_embeddings": 4096,
                           "vocab_size": 32064},
           "vision_config": {"model_type": "clip_vision_model", "hidden_size": 1024}})",
       6738939904, "llama"},
      {R"({"model_type": "gemma3", "torch_dtype": "float16",
           "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34,
                           "intermediate_size": 10240, "sliding_window": 1024},
           "vision_config": {"model_type": "siglip_vision_model"}})",
       3880263168, "gemma3_text"},
      {R"({"model_type": "qwen2_5_vl", "torch_dtype": "float16", "hidden_size": 3584,
           "intermediate_size": 18944, "num_attention_heads": 28, "num_hidden_layers": 28,
           "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": false,
           "vision_start_token_id": 1, "vision_config": {"depth": 32}})",
       7615616512, "qwen2"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.config);
    const auto model = load(c.config, {{"part", "text"}});
    REQUIRE(model);
    CHECK(model->family == c.family);
    CHECK(parameter_count(*model) == c.parameters);
    CHECK(model->dtype == DType::kFloat16);
    CHECK(load(c.config, {{"part", "text"}, {"layers", "1"}}));
    CHECK_FALSE(load(c.config, {{"part", "vision"}}));
  }
  CHECK_FALSE(load(llama(), {{"part", "text"}}));
  CHECK_FALSE(load(R"({"model_type": "a", "vision_config": {}, "text_config": {"vocab_size": 1}})",
                   {{"part", "text"}}));
  CHECK_FALSE(load(R"({"model_type": "a", "vision_config": {},
                       "text_config": {"model_type": "emu3_text_model"}})",
                   {{"part", "text"}}));
}

}  // namespace plimsoll
