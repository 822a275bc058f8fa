// Files of training programs among flags: who wins, and what is said.
#include "estimator/app/trainer_files/apply_trainer_files.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/support/scratch.h"

namespace plimsoll {
namespace {

constexpr const char* kArguments =
    R"({"per_device_train_batch_size": 4, "optim": "adafactor", "max_seq_length": 256})";

GivenSettings asked_with(const std::string& model, const std::string& trainer) {
  GivenSettings given;
  given.model = model;
  if (!trainer.empty()) given.add(*find_setting("trainer"), trainer);
  return given;
}

std::string value_in(const GivenSettings& given, std::string_view name) {
  const std::string* const text = given.value(name);
  return text ? *text : "";
}

}  // namespace

TEST_CASE("a file's settings hold where none is given, and its program's name stays") {
  const test::Scratch scratch;
  GivenSettings given = asked_with("builtin:gpt2", scratch.write("args.json", kArguments));
  const auto applied = apply_trainer_files(given);
  REQUIRE(applied);
  CHECK(value_in(given, "batch") == "4");
  CHECK(value_in(given, "optimizer") == "adafactor");
  CHECK(value_in(given, "dim") == "sequence=256");
  CHECK(value_in(given, "trainer") == "trl");
  CHECK(applied->names == std::set<std::string, std::less<>>{"batch", "optimizer", "dim"});
  CHECK(applied->used.find("batch 4, sequence 256, optimizer adafactor of ") == 0);
  const auto request = to_request(given);
  REQUIRE(request);
  CHECK(request->batch == 4);
  CHECK(request->recipe.clip_grad_norm == 1);  // the program's default
}

// accelerate/utils/dataclasses.py, FullyShardedDataParallelPlugin.set_mixed_precision().
TEST_CASE("where accelerate shards by FSDP, its mixed precision is of what is gathered too") {
  const test::Scratch scratch;
  const std::string sharding = scratch.write(
      "fsdp.yaml", "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 8\n");
  const std::string arguments =
      scratch.write("args.json", R"({"per_device_train_batch_size": 4, "bf16": true})");
  for (const std::string& files : {sharding, arguments + "," + sharding}) {
    CAPTURE(files);
    GivenSettings given = asked_with("builtin:gpt2", files);
    const auto applied = apply_trainer_files(given);
    REQUIRE(applied);
    CHECK(value_in(given, "precision") == "mixed-amp-bf16");
    CHECK(applied->used.find("precision mixed-amp-bf16") != std::string::npos);
    CHECK(applied->used.find("precision amp-bf16") == std::string::npos);
  }
  GivenSettings whole = asked_with("builtin:gpt2", arguments);
  REQUIRE(apply_trainer_files(whole));
  CHECK(value_in(whole, "precision") == "amp-bf16");
  GivenSettings adapters = asked_with("builtin:gpt2", sharding);
  adapters.add(*find_setting("finetune"), "lora");
  REQUIRE(apply_trainer_files(adapters));
  CHECK(value_in(adapters, "precision") == "amp-bf16");
}

TEST_CASE("a flag wins over the file, also where the file's value is no good; so does a plan") {
  const test::Scratch scratch;
  const std::string path = scratch.write(
      "args.json",
      R"({"per_device_train_batch_size": "many", "optim": "lomo", "max_length": 256})");
  GivenSettings given = asked_with("builtin:gpt2", path);
  given.add(*find_setting("batch"), "2");
  given.add(*find_setting("dim"), "sequence=64");
  const auto applied = apply_trainer_files(given, {"optimizer"});
  REQUIRE(applied);
  CHECK(value_in(given, "batch") == "2");
  CHECK(given.values("dim") == std::vector<std::string>{"sequence=64"});
  CHECK_FALSE(given.has("optimizer"));
  CHECK(applied->used.empty());
}

TEST_CASE("several files: what one lacks the other says; two values exclude each other") {
  const test::Scratch scratch;
  const std::string arguments = scratch.write("args.json", kArguments);
  const std::string adapters = scratch.write("adapter_config.json", R"({"peft_type": "LORA",
    "r": 4, "base_model_name_or_path": "meta-llama/Llama-3.2-1B"})");
  GivenSettings given = asked_with("", arguments + "," + adapters);
  REQUIRE(apply_trainer_files(given));
  CHECK(given.model == "hf:meta-llama/Llama-3.2-1B");
  CHECK(value_in(given, "finetune") == "lora");
  CHECK(value_in(given, "lora-rank") == "4");
  const std::string other = scratch.write("other.json", R"({"train_micro_batch_size_per_gpu": 8})");
  GivenSettings twice = asked_with("builtin:gpt2", arguments + "," + other);
  const auto refused = apply_trainer_files(twice);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().code == "E114");
  GivenSettings named = asked_with("builtin:gpt2", "torchtune," + arguments);
  REQUIRE(apply_trainer_files(named));
  CHECK(value_in(named, "trainer") == "torchtune");
}

// deepspeed/runtime/config.py, _set_batch_related_parameters() and _batch_assertion().
TEST_CASE("samples of an update on all GPUs give the batch of one, or the passes") {
  const test::Scratch scratch;
  struct Case {
    const char *rest, *gpus, *batch, *accumulate;
  };
  constexpr Case kCases[] = {
      {"", "", "64", ""},
      {"", "4", "16", ""},
      {R"(, "gradient_accumulation_steps": 4)", "2", "8", "4"},
      {R"(, "train_micro_batch_size_per_gpu": 8)", "", "8", "8"},
      {R"(, "train_micro_batch_size_per_gpu": 8)", "2", "8", "4"},
      {R"(, "train_micro_batch_size_per_gpu": "auto")", "", "64", ""},
      {R"(, "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 4)", "2", "8", "4"},
  };
  for (const Case& one : kCases) {
    CAPTURE(one.rest);
    CAPTURE(one.gpus);
    GivenSettings given = asked_with(
        "builtin:gpt2",
        scratch.write("ds.json", fmt::format(R"({{"train_batch_size": 64{}}})", one.rest)));
    if (*one.gpus) given.add(*find_setting("gpus"), one.gpus);
    const auto applied = apply_trainer_files(given);
    REQUIRE(applied);
    CHECK(value_in(given, "batch") == one.batch);
    CHECK(value_in(given, "accumulate") == one.accumulate);
    CHECK(applied->used.find(fmt::format("batch {}", one.batch)) != std::string::npos);
    CHECK(applied->diagnostics.empty());
  }
}

TEST_CASE("samples of an update that GPUs cannot share are refused, or told") {
  const test::Scratch scratch;
  const auto asked = [&](const char* file,
                         const std::vector<std::pair<const char*, const char*>>& flags) {
    GivenSettings given = asked_with("builtin:gpt2", scratch.write("ds.json", file));
    for (const auto& [name, text] : flags) given.add(*find_setting(name), text);
    const auto applied = apply_trainer_files(given);
    if (!applied) return applied.error().front().code;
    return applied->diagnostics.empty() ? std::string() : applied->diagnostics.front().code;
  };
  constexpr const char* kWhole =
      R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 1})";
  CHECK(asked(kWhole, {{"gpus", "4"}}) == "E114");
  CHECK(asked(kWhole, {{"gpus", "8"}}).empty());
  CHECK(asked(kWhole, {}) == "W534");                             // of 8 GPUs
  CHECK(asked(kWhole, {{"batch", "4"}, {"gpus", "8"}}).empty());  // a flag wins
  CHECK(asked(R"({"train_batch_size": 63})", {{"gpus", "4"}}) == "E114");
  CHECK(asked(R"({"train_batch_size": 64})", {{"tp", "2"}}) == "W534");
  CHECK(asked(R"({"train_batch_size": 6.5})", {}) == "E103");
  CHECK(asked(R"({"train_batch_size": [64]})", {}) == "E311");
}

TEST_CASE("a file that names its model is one; a model's config is none") {
  const test::Scratch scratch;
  GivenSettings given =
      asked_with(scratch.write("a.yaml", "base_model: Qwen/Qwen3-8B\nmicro_batch_size: 2\n"), "");
  REQUIRE(apply_trainer_files(given));
  CHECK(given.model == "hf:Qwen/Qwen3-8B");
  CHECK(value_in(given, "batch") == "2");
  CHECK(value_in(given, "trainer") == "hf");
  GivenSettings unknown = asked_with(scratch.write("b.yaml", "base_model: me/mine\n"), "");
  REQUIRE(apply_trainer_files(unknown));
  CHECK(unknown.model == "hf:me/mine");
  const std::string folder = scratch.path("");
  GivenSettings local = asked_with(scratch.write("c.yaml", "base_model: " + folder + "\n"), "");
  REQUIRE(apply_trainer_files(local));
  CHECK(local.model == folder);
  for (const char* text : {R"({"model_type": "gpt2", "gradient_checkpointing": false})",
                           R"({"per_device_train_batch_size": 1})", "no JSON"}) {
    const std::string path = scratch.write("config.json", text);
    GivenSettings same = asked_with(path, "");
    REQUIRE(apply_trainer_files(same));
    CHECK(same.model == path);
    CHECK(same.all().empty());
  }
}

TEST_CASE("a program's name stays as it is; what is neither is left to be refused") {
  GivenSettings program = asked_with("builtin:gpt2", "trl");
  REQUIRE(apply_trainer_files(program));
  CHECK(value_in(program, "trainer") == "trl");
  GivenSettings neither = asked_with("builtin:gpt2", "nobody");
  REQUIRE(apply_trainer_files(neither));
  CHECK_FALSE(to_request(neither));
  GivenSettings lost = asked_with("builtin:gpt2", "lost.json");
  const auto missing = apply_trainer_files(lost);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().front().code == "E601");
}

TEST_CASE(
    "what nothing reads is one note; what is shared over nobody knows how many is warned of") {
  const test::Scratch scratch;
  std::string text = R"({"per_device_train_batch_size": 1, "deepspeed": {"zero_optimization":
    {"stage": 2}})";
  for (char c = 'a'; c <= 'z'; ++c) text += std::string(", \"") + c + "\": 1";
  GivenSettings given = asked_with("builtin:gpt2", scratch.write("args.json", text + "}"));
  const auto applied = apply_trainer_files(given);
  REQUIRE(applied);
  REQUIRE(applied->diagnostics.size() == 2);
  CHECK(applied->diagnostics.front().code == "N535");
  CHECK(applied->diagnostics.front().message.find("not read: a, b, c") != std::string::npos);
  CHECK(applied->diagnostics.front().message.find("l and 14 others") != std::string::npos);
  CHECK(applied->diagnostics.back().code == "W534");
  GivenSettings counted = asked_with("builtin:gpt2", scratch.path("args.json"));
  counted.add(*find_setting("gpus"), "8");
  CHECK(apply_trainer_files(counted)->diagnostics.size() == 1);
}

TEST_CASE("files that flags name one by one, one file twice, and two programs") {
  const test::Scratch scratch;
  const std::string arguments = scratch.write("args.json", kArguments);
  const std::string adapters = scratch.write("adapter_config.json", R"({"peft_type": "LORA",
    "r": 4})");
  GivenSettings given = asked_with("builtin:gpt2", arguments);
  given.add(*find_setting("trainer"), adapters);
  REQUIRE(apply_trainer_files(given));
  CHECK(value_in(given, "lora-rank") == "4");
  GivenSettings twice = asked_with("builtin:gpt2", arguments + "," + arguments);
  const auto once = apply_trainer_files(twice);
  REQUIRE(once);
  CHECK(once->used.find(" of ") == once->used.rfind(" of "));
  GivenSettings programs = asked_with("builtin:gpt2", arguments + ",hf,torchtune");
  const auto refused = apply_trainer_files(programs);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().code == "E114");
  CHECK(names_trainer_file("hf," + arguments));
  CHECK_FALSE(names_trainer_file("hf"));
  CHECK_FALSE(names_trainer_file("nobody"));
}

TEST_CASE("what is read is told, the config of DeepSpeed that a file names too") {
  const test::Scratch scratch;
  const std::string config = scratch.write("ds.json", R"({"zero_optimization": {"stage": 2}})");
  const std::string arguments =
      scratch.write("args.json", R"({"per_device_train_batch_size": 4, "deepspeed": "ds.json"})");
  GivenSettings given = asked_with("builtin:gpt2", arguments);
  const auto applied = apply_trainer_files(given);
  REQUIRE(applied);
  CHECK(applied->read == std::vector<std::string>{arguments, config});
}

}  // namespace plimsoll
