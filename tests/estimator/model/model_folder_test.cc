#include "estimator/model/model_folder.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "estimator/model/model_source.h"
#include "tests/support/scratch.h"

namespace plimsoll {
namespace {

// As safetensors' files begin: the header's length in eight bytes, and the header.
std::string safetensors(const std::string& header) {
  std::string bytes(8, '\0');
  for (size_t i = 0, left = header.size(); i < 8; ++i, left >>= 8)
    bytes[i] = static_cast<char>(left & 0xff);
  return bytes + header;
}

}  // namespace

TEST_CASE("the type of weights is that of most bytes of a safetensors file") {
  const test::Scratch scratch;
  CHECK(safetensors_dtype(scratch.path(""), {}) == DType::kUndefined);
  scratch.write("model.safetensors", safetensors(R"({"__metadata__": {"format": "pt"},
      "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
      "b": {"dtype": "BF16", "shape": [64], "data_offsets": [8, 136]}})"));
  CHECK(safetensors_dtype(scratch.path(""), {}) == DType::kBFloat16);
  scratch.write("model.safetensors", "short");
  CHECK(safetensors_dtype(scratch.path(""), {}) == DType::kUndefined);
}

TEST_CASE("an adapter_config.json says rank, dropout and targets") {
  const test::Scratch scratch;
  CHECK_FALSE(*read_adapter_config(scratch.path(""), {}));
  scratch.write("adapter_config.json", R"({"peft_type": "LORA", "r": 16, "lora_alpha": 32,
    "lora_dropout": 0.05, "target_modules": ["q_proj", "v_proj"], "bias": "none",
    "use_dora": false, "modules_to_save": null, "rank_pattern": {}, "task_type": "CAUSAL_LM",
    "base_model_name_or_path": "Qwen/Qwen3-8B"})");
  const auto adapter = read_adapter_config(scratch.path(""), {});
  REQUIRE(adapter);
  REQUIRE(*adapter);
  CHECK((*adapter)->finetune.kind == FinetuneKind::kLora);
  CHECK((*adapter)->finetune.rank == 16);
  CHECK((*adapter)->finetune.dropout == doctest::Approx(0.05));
  CHECK((*adapter)->finetune.targets == "q_proj,v_proj");
  CHECK((*adapter)->base == "Qwen/Qwen3-8B");
  for (const char* other : {R"({"peft_type": "IA3"})", R"({"use_dora": true})",
                            R"({"target_modules": ".*proj"})", R"({"bias": "all"})"}) {
    CAPTURE(other);
    scratch.write("adapter_config.json", other);
    CHECK_FALSE(read_adapter_config(scratch.path(""), {}));
  }
}

TEST_CASE("a folder of a pipeline of diffusers is the network in it that is trained") {
  const test::Scratch scratch;
  std::filesystem::create_directory(scratch.path("vae"));
  std::filesystem::create_directory(scratch.path("unet"));
  scratch.write("model_index.json", R"({"_class_name": "StableDiffusionPipeline"})");
  scratch.write("vae/config.json", R"({"_class_name": "AutoencoderKL"})");
  scratch.write("unet/config.json", R"({"_class_name": "UNet2DConditionModel", "sample_size": 8,
    "block_out_channels": [32, 64], "down_block_types": ["CrossAttnDownBlock2D", "DownBlock2D"],
    "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D"], "cross_attention_dim": 16,
    "attention_head_dim": 4})");
  ModelRequest request;
  request.model = scratch.path("");
  const auto model = load_model(request);
  const std::string why = model ? "" : model.error().front().message;
  CHECK_MESSAGE(model, why);
}

}  // namespace plimsoll
