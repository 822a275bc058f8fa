#include "estimator/request/trainer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "estimator/settings/given_settings.h"
#include "graph/base/setting.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

using Texts = std::map<std::string, std::string>;

Request asked_by(const Texts& texts) {
  GivenSettings given;
  given.model = "builtin:gpt2";
  for (const auto& [name, text] : texts) given.add(*find_setting(name), text);
  auto request = to_request(given);
  REQUIRE(request);
  return *request;
}

}  // namespace

TEST_CASE("every trainer's defaults are settings and values that they take") {
  for (const TrainerRow& row : trainers()) {
    CHECK_FALSE(row.source.empty());
    for (const TrainerDefault& one : row.defaults) {
      const SettingRow* setting = find_setting(one.setting);
      REQUIRE(setting != nullptr);
      Request into;
      CHECK(setting->value.read(*setting, one.text, into));
    }
  }
}

TEST_CASE("a trainer is named after the framework in records") {
  REQUIRE(trainer_of("pytorch / nanotron"));
  CHECK(trainer_of("pytorch / nanotron")->name == "nanotron");
  REQUIRE(trainer_of("pytorch / Megatron-LM"));
  CHECK(trainer_of("pytorch / Megatron-LM")->name == "megatron");
  REQUIRE(trainer_of("pytorch / Megatron-DeepSpeed"));
  CHECK(trainer_of("pytorch / Megatron-DeepSpeed")->name == "megatron-deepspeed");
  REQUIRE(trainer_of("pytorch / Megatron-DeepSpeed with BF16_Optimizer"));
  CHECK(trainer_of("pytorch / Megatron-DeepSpeed with BF16_Optimizer")->name ==
        "megatron-deepspeed-bf16");
  CHECK(trainer_of("pytorch / Megatron-Bridge")->name == "megatron-bridge");
  REQUIRE(trainer_of("pytorch / torchtitan + torchao"));
  CHECK(trainer_of("pytorch / torchtitan + torchao")->name == "torchtitan");
  REQUIRE(trainer_of("pytorch / torchtitan (04/2024)"));
  CHECK(trainer_of("pytorch / FSDP1 + bitsandbytes (or HQQ)")->name == "fsdp-qlora");
  CHECK(trainer_of("pytorch / litgpt", "2.1.0") == find_trainer("litgpt-2023"));
  CHECK(trainer_of("pytorch / litgpt", "2.2.0") == find_trainer("litgpt"));
  CHECK(trainer_of("pytorch / litgpt") == find_trainer("litgpt"));
  CHECK(trainer_of("pytorch / torchtitans") == nullptr);
  CHECK(trainer_of("pytorch / nobody") == nullptr);
  CHECK(trainer_of("pytorch") == nullptr);
}

TEST_CASE("Megatron-LM and nanotron add gradients to a buffer in 32 bits, at different times") {
  const Request nanotron = asked_by({{"trainer", "nanotron"}});
  CHECK(nanotron.parallel.gradient_buffer == GradientBuffer::kAfterPass);
  CHECK(nanotron.parallel.split_loss == SplitLoss::kMegatron);
  CHECK(nanotron.recipe.precision->name == "mixed-bf16");
  CHECK(asked_by({{"trainer", "megatron"}}).parallel.gradient_buffer == GradientBuffer::kAsReady);
  const Request own = asked_by({{"trainer", "megatron"}, {"gradient-buffer", "none"}});
  CHECK(own.parallel.gradient_buffer == GradientBuffer::kNone);
}

TEST_CASE("programs with Megatron's layers have the kernels of their time") {
  const Request old = asked_by({{"trainer", "megatron-deepspeed"}});
  CHECK(old.attention == AskedAttention::kMaskedSoftmax);
  CHECK(old.recipe.precision->name == "mixed-fp16");
  CHECK(old.parallel.gradient_buffer.value_or(GradientBuffer::kNone) == GradientBuffer::kNone);
  CHECK_FALSE(old.parallel.tensor_overlap);
  CHECK(old.recipe.zero_grad == ZeroGrad::kNone);
  const Request bf16 = asked_by({{"trainer", "megatron-deepspeed-bf16"}});
  CHECK(bf16.parallel.gradient_buffer == GradientBuffer::kUntilNext);
  const Request bridge = asked_by({{"trainer", "megatron-bridge"}});
  CHECK(bridge.attention == AskedAttention::kCudnn);
  CHECK(bridge.recipe.compiled);
  CHECK(bridge.parallel.tensor_overlap);
}

TEST_CASE("InternEvo has fp32 copies of weights, and of gradients for their norm") {
  const Request internevo = asked_by({{"trainer", "internevo"}});
  CHECK(internevo.recipe.precision->name == "mixed-bf16");
  CHECK(internevo.recipe.norm_of_copies);
  CHECK(internevo.recipe.clip_grad_norm == 1);
  CHECK(internevo.parallel.master_copies);
  CHECK(internevo.recipe.optimizer->name == "adamw");
}

TEST_CASE("torchtune, unsloth and torchtitan have losses and checkpoints of their own") {
  const Request torchtune = asked_by({{"trainer", "torchtune"}});
  CHECK(torchtune.recipe.loss_form == LossForm::kChunkedLinear);
  CHECK(torchtune.recipe.precision->name == "bf16");
  CHECK_FALSE(torchtune.recipe.clip_grad_norm);
  CHECK_FALSE(torchtune.recipe.finetune.adapters_wide);
  CHECK(torchtune.recipe.finetune.prepared == Prepared::kNone);
  CHECK_FALSE(torchtune.recipe.keeps_outputs);
  const Request unsloth = asked_by({{"trainer", "unsloth"}, {"loss-form", "operators"}});
  CHECK(unsloth.recipe.loss_form == LossForm::kOperators);
  CHECK(unsloth.recipe.finetune.rank == 16);
  CHECK(unsloth.recipe.optimizer->name == "adam8bit");
  CHECK(asked_by({{"trainer", "torchtitan"}}).recipe.checkpoint == "operators");
}

TEST_CASE("a trainer's defaults hold where nothing else is given") {
  const Request plain = asked_by({}), trl = asked_by({{"trainer", "trl"}});
  CHECK_FALSE(plain.recipe.clip_grad_norm);
  CHECK(trl.recipe.clip_grad_norm == 1);
  CHECK(trl.recipe.checkpoint == "blocks");
  CHECK(trl.recipe.optimizer->name == "adamw-fused");
  CHECK(trl.recipe.loss_form == LossForm::kTiledLinear);
  const Request before = asked_by({{"trainer", "trl-1.6"}});
  CHECK(before.recipe.loss_form == LossForm::kOperators);
  CHECK(before.recipe.checkpoint == "blocks");
  CHECK(asked_by({{"trainer", "hf-4"}}).recipe.returns_cache);
  CHECK_FALSE(asked_by({{"trainer", "hf"}}).recipe.returns_cache);
  const Request own = asked_by({{"trainer", "trl"},
                                {"checkpoint", "none"},
                                {"clip-grad-norm", "none"},
                                {"optimizer", "sgd"}});
  CHECK_FALSE(own.recipe.clip_grad_norm);
  CHECK(own.recipe.checkpoint == "none");
  CHECK(own.recipe.optimizer->name == "sgd");
}

TEST_CASE("what a trainer does is among what is assumed, with the setting that changes it") {
  Request request = asked_by({{"trainer", "trl"}});
  request.devices = {"a100-sxm-40gb"};
  request.batch = 1;
  const Estimate answer = test::answer(request);
  const auto assumed = [&](std::string_view setting) {
    return std::ranges::any_of(answer.assumed,
                               [&](const auto& one) { return one.setting == setting; });
  };
  CHECK(assumed("clip-grad-norm"));
  CHECK(assumed("checkpoint"));
  CHECK(assumed("optimizer"));
  request = asked_by({});
  request.devices = {"a100-sxm-40gb"};
  request.batch = 1;
  const Estimate plain = test::answer(request);
  CHECK(std::ranges::none_of(plain.assumed,
                             [](const auto& one) { return one.setting == "checkpoint"; }));
}

TEST_CASE("Composer measures scores and has the first flash attention") {
  const Request composer = asked_by({{"trainer", "composer"}});
  CHECK(composer.attention == AskedAttention::kFlashFirst);
  CHECK(composer.recipe.loss_form == LossForm::kFused);
  CHECK(composer.recipe.score_metrics == 2);
  CHECK(trainer_of("pytorch / composer") == find_trainer("composer"));
  CHECK(asked_by({{"trainer", "composer"}, {"attention", "flash"}}).attention ==
        AskedAttention::kFlash);
}

TEST_CASE("fsdp_qlora leaves what is not quantized in 16 bits") {
  CHECK(asked_by({}).recipe.finetune.prepared);
  CHECK_FALSE(asked_by({{"trainer", "fsdp-qlora"}}).recipe.finetune.prepared);
}

TEST_CASE("what is sharded beside weights in four bits stays as it was loaded") {
  const Finetune whole = asked_by({{"finetune", "qlora"}}).recipe.finetune;
  CHECK(whole.prepared == Prepared::kAll);
  CHECK(whole.adapters_wide);
  for (const auto& [name, text] : {std::pair("fsdp", "4"), std::pair("zero", "3")}) {
    const Finetune parts = asked_by({{"finetune", "qlora"}, {name, text}}).recipe.finetune;
    CHECK(parts.prepared == Prepared::kNone);
    CHECK_FALSE(parts.adapters_wide);
  }
  CHECK(asked_by({{"finetune", "qlora"}, {"zero", "2"}}).recipe.finetune.prepared ==
        Prepared::kAll);
  CHECK(asked_by({{"finetune", "qlora"}, {"fsdp", "4"}, {"quantize", "int8"}})
            .recipe.finetune.prepared == Prepared::kAll);
  CHECK(asked_by({{"finetune", "qlora"}, {"fsdp", "4"}, {"kbit-prepare", "on"}})
            .recipe.finetune.prepared == Prepared::kAll);
}

TEST_CASE("a way of sharing a model is no trainer, and is said by its own setting") {
  const SettingRow& row = *find_setting("trainer");
  const auto help_for = [&](std::string_view word) {
    Request into;
    const auto read = row.value.read(row, word, into);
    REQUIRE_FALSE(read);
    CHECK(read.error().front().code == "E106");
    return read.error().front().help;
  };
  for (const std::string_view word : {"fsdp", "FSDP2", "ddp", "deepspeed", "accelerate",
                                      "transformers", "llm-foundry", "axolotl"}) {
    CAPTURE(word);
    CHECK(help_for(word) == help_for_trainer(word));
    CHECK_FALSE(help_for_trainer(word).empty());
  }
  CHECK(help_for("deepspeed").find(setting("zero", "3")) != std::string::npos);
  CHECK(help_for_trainer("nobody").empty());
}

TEST_CASE("programs take more or less than their steps; a loop on whole models does not") {
  const auto spread = [](const Texts& texts) {
    const Request request = asked_by(texts);
    return memory_spread(request.trainer, request.recipe);
  };
  CHECK(spread({}) == nullptr);
  CHECK(spread({{"trainer", "hf"}, {"mode", "inference"}}) == nullptr);
  const MemorySpread* adapted = spread({{"finetune", "lora"}});
  REQUIRE(adapted);
  CHECK(spread({{"trainer", "hf"}}) == adapted);
  CHECK(spread({{"trainer", "torchtune"}, {"finetune", "lora"}})->more < adapted->more);
  for (const TrainerRow& row : trainers()) {
    CHECK(row.spread.less > 0);
    CHECK(row.spread.more > 0);
    CHECK_FALSE(row.spread.source.empty());
  }
}

TEST_CASE("without a program's name, whose sharding it is decides how wide memory's range is") {
  Recipe recipe;
  Mesh& mesh = recipe.parallel.mesh;
  mesh.extent(Axis::kData) = 8;
  CHECK(memory_spread(nullptr, recipe) == nullptr);
  mesh.extent(Axis::kShard) = 8;
  const MemorySpread* fsdp2 = memory_spread(nullptr, recipe);
  REQUIRE(fsdp2);
  recipe.parallel.sharded_by = ShardedBy::kZero;
  const MemorySpread* zero = memory_spread(nullptr, recipe);
  REQUIRE(zero);
  CHECK(fsdp2->more < zero->more);
  mesh.extent(Axis::kTensor) = 2;
  recipe.parallel.sharded_by = ShardedBy::kFsdp2;
  CHECK(memory_spread(nullptr, recipe) == zero);
}

}  // namespace plimsoll
