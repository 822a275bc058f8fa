// Families of Hugging Face configs against transformers itself (tests/oracles/family_steps.py):
// parameter counts, and a step's saved and peak bytes with each form of attention.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "graph/family/family.h"
#include "graph/json/reader.h"
#include "tests/support/golden_differences.h"
#include "tests/support/golden_memory.h"

namespace plimsoll {
namespace {

constexpr const char* kFamilySteps = "memory/family_steps.json";

Result<int64_t> parameters_of(const std::string& config) {
  const auto root = read_json(config, "config.json");
  if (!root) return tl::make_unexpected(root.error());
  Diagnostics warnings;
  const auto model = load_family_model(*root, "config.json", {}, warnings);
  if (!model) return tl::make_unexpected(model.error());
  int64_t sum = 0;
  for (const Tensor& t : model->config.networks.front().graph.tensors) {
    const bool is_statistic = t.name.ends_with(".running_mean") || t.name.ends_with(".running_var");
    if (t.kind != TensorKind::kParameter || t.origin != Origin::kAuthored || t.buffer ||
        is_statistic || !is_float(t.dtype))
      continue;
    sum += elements(*t.shape).constant().value_or(0);
  }
  return sum;
}

test::GoldenCase family_case_of(const nlohmann::json& family, const nlohmann::json& one) {
  test::GoldenCase wanted;
  wanted.batch = family["batch"];
  wanted.mode = "adam";
  if (family.contains("sequence") && !family["counts"][0]["config"].contains("image_size"))
    wanted.dims["sequence"] = family["sequence"];
  if (family.contains("dims"))
    for (const auto& [name, size] : family["dims"].items()) wanted.settings[name] = size.dump();
  wanted.precision = find_precision(one["precision"].get<std::string>());
  wanted.attention = one["attention"] == "eager" ? AskedAttention::kEager : AskedAttention::kSdpa;
  if (one.contains("targets")) {
    wanted.finetune.kind = FinetuneKind::kLora;
    wanted.finetune.targets = one["targets"];
  }
  return wanted;
}

}  // namespace

TEST_CASE("families have transformers' parameters, at two configurations and the defaults") {
  const auto golden = test::read_golden(kFamilySteps);
  for (const auto& family : golden["families"]) {
    for (const auto& one : family["counts"]) {
      const auto got = parameters_of(one["config"].dump());
      const std::string what =
          fmt::format("{} {}", family["name"].get<std::string>(), one["config"].dump());
      CAPTURE(what);
      const std::string why = got ? "" : got.error().front().message;
      REQUIRE_MESSAGE(got, why);
      CHECK(*got == one["parameters"].get<int64_t>());
    }
  }
}

TEST_CASE("published configurations have the parameters that their checkpoints count") {
  size_t counted = 0;
  for (const std::string& name : published_models()) {
    const auto file = published_config(name);
    REQUIRE(file);
    const auto published = nlohmann::json::parse(*file);
    if (!published.contains("parameters")) continue;  // of a program, or nobody published a count
    CAPTURE(name);
    const auto got = parameters_of(published["config"].dump());
    REQUIRE(got);
    CHECK(*got == published["parameters"].get<int64_t>());
    ++counted;
  }
  CHECK(counted >= 90);
}

TEST_CASE("ChatGLM, whose code transformers does not have, has its published parameters") {
  // zai-org/chatglm3-6b: 12.49 GB of safetensors in 16 bits.
  const auto got = parameters_of(R"({"model_type": "chatglm", "padded_vocab_size": 65024,
    "num_layers": 28, "hidden_size": 4096, "ffn_hidden_size": 13696, "kv_channels": 128,
    "num_attention_heads": 32, "multi_query_attention": true, "multi_query_group_num": 2,
    "add_qkv_bias": true, "add_bias_linear": false, "rmsnorm": true})");
  REQUIRE(got);
  CHECK(*got == 6243584000);
}

TEST_CASE("goldens are of families that are there") {
  const auto golden = test::read_golden(kFamilySteps);
  const std::vector<FamilyRow> rows = families();
  size_t known = 0;
  for (const auto& family : golden["families"]) {
    const std::string name = family["name"];  // "gemma4_text+moe" is another configuration of one
    const auto same = [&](const FamilyRow& row) {
      return row.name == name.substr(0, name.find('+'));
    };
    CHECK(std::any_of(rows.begin(), rows.end(), same));
    ++known;
  }
  CHECK(known >= 35);
}

namespace {

// Of a tower for images beside text, of boxes in images, or of diffusers: what they miss is listed.
// SigLIP's pooling head is a MultiheadAttention, which reads its out_proj's weight: the adapter
// that peft puts there never runs, and has no gradient and no state (27 kB). Llama 4's rotary table
// is complex, of which to(bf16) keeps the real part alone, unlike from_pretrained() (3 kB). Of
// speech, ATen's loss keeps other sums than cuDNN's. Swin's last norm has a gradient that fake
// tensors lay out otherwise, and Python's names hold what LoRA needs no more.
bool is_of_images(const nlohmann::json& family) {
  const nlohmann::json& config = family["counts"][0]["config"];
  const std::string type = config.value("model_type", "");
  return config.contains("vision_config") || config.contains("_class_name") ||
         config.contains("conv_dim") || type == "detr" || type == "swin";
}

// Llama 3.2's text and TrOCR without pictures have adapters in layers that stand idle. BEiT's index
// of distances lies on the host. Swin V2's peak is as Swin's.
bool is_nearly_taken(const nlohmann::json& family) {
  const std::string type = family["counts"][0]["config"].value("model_type", "");
  return type == "mllama_text_model" || type == "trocr" || type == "vision-encoder-decoder" ||
         type == "beit" || type == "swinv2";
}

// Of a head that is not the family's first.
bool is_of_heads(const nlohmann::json& family) {
  return family["counts"][0]["config"].contains("architectures");
}

enum class Kind { kFirst, kHeads, kImages, kNear };
Kind kind_of(const nlohmann::json& family) {
  if (is_of_heads(family)) return Kind::kHeads;
  if (is_nearly_taken(family)) return Kind::kNear;
  return is_of_images(family) ? Kind::kImages : Kind::kFirst;
}

struct FamilyErrors {
  test::Errors saved, peak;
  size_t wrong_phases = 0;
};

FamilyErrors errors_of_families(Kind kind) {
  const auto golden = test::read_golden(kFamilySteps);
  test::GoldenModels models("a100-sxm-40gb");
  FamilyErrors errors;
  for (const auto& family : golden["families"]) {
    if (kind_of(family) != kind) continue;
    const std::string config = family["counts"][0]["config"].dump();
    for (const auto& one : family["cases"]) {
      const std::string what = fmt::format(
          "{} {} {}{}", family["name"].get<std::string>(), one["attention"].get<std::string>(),
          one["precision"].get<std::string>(), one.contains("targets") ? " lora" : "");
      CAPTURE(what);
      const auto got = models.config_figures(config, family_case_of(family, one));
      const std::string why = got ? "" : got.error().front().message;
      CHECK_MESSAGE(got, what, ": ", why);
      if (!got) continue;
      errors.saved.add(what, got->saved, one["saved"]);
      errors.peak.add(what, got->peak, one["peak"]);
      errors.wrong_phases += got->phase != one["phase"];
    }
  }
  MESSAGE("saved: ", errors.saved.text());
  MESSAGE("peak: ", errors.peak.text());
  return errors;
}

}  // namespace

TEST_CASE("families take what transformers' steps take") {
  const FamilyErrors errors = errors_of_families(Kind::kFirst);
  CHECK(errors.wrong_phases == 0);
  test::check_differences("families saved", errors.saved);
  test::check_differences("families peak", errors.peak);
  CHECK(errors.saved.share_within(0.0005) == 1);
  CHECK(errors.peak.share_within(0.0005) == 1);
}

TEST_CASE("classifiers and other heads take what transformers' steps take") {
  const FamilyErrors errors = errors_of_families(Kind::kHeads);
  CHECK(errors.wrong_phases <= 1);  // of one that is all but as high at the end of forward
  test::check_differences("heads saved", errors.saved);
  test::check_differences("heads peak", errors.peak);
  CHECK(errors.saved.share_within(0.0005) == 1);
  CHECK(errors.peak.share_within(0.0005) > 0.8);
  CHECK(errors.peak.share_within(0.021) == 1);
}

TEST_CASE(
    "families with idle adapters or an index on the host take nearly what transformers does") {
  const FamilyErrors errors = errors_of_families(Kind::kNear);
  CHECK(errors.wrong_phases == 0);
  test::check_differences("families nearly saved", errors.saved);
  test::check_differences("families nearly peak", errors.peak);
  CHECK(errors.saved.share_within(0.008) == 1);
  CHECK(errors.peak.share_within(0.008) == 1);
}

TEST_CASE("families of images take what transformers' and diffusers' steps take") {
  const FamilyErrors errors = errors_of_families(Kind::kImages);
  test::check_differences("families of images saved", errors.saved);
  test::check_differences("families of images peak", errors.peak);
  CHECK(errors.saved.share_within(0.04) == 1);
  CHECK(errors.peak.share_within(0.03) == 1);
}

}  // namespace plimsoll
