// One file of each program, as its users write it, and the settings that it gives.
#include "estimator/app/trainer_files/trainer_file.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "estimator/request/trainer.h"
#include "estimator/settings/setting_row.h"
#include "graph/family/family.h"
#include "tests/estimator/app/trainer_files/trainer_texts.h"
#include "tests/support/scratch.h"

namespace plimsoll {
namespace {

using Texts = std::map<std::string, std::string>;

bool nothing_given(std::string_view) { return false; }

TrainerFile read_as(const test::Scratch& scratch, const std::string& name,
                    const std::string& text) {
  auto file = read_trainer_file(scratch.write(name, text), nothing_given);
  const std::string fault = file ? "" : file.error().front().message;
  CHECK(fault == "");
  REQUIRE(file);
  return std::move(*file);
}

Texts texts_of_settings(const TrainerFile& file) {
  Texts texts;
  for (const TrainerSettings::One& one : file.settings.all())
    texts[one.entry.empty() ? std::string(one.row->name) : one.entry] = one.text;
  return texts;
}

Diagnostic refused(const std::string& name, const std::string& text) {
  const test::Scratch scratch;
  auto file = read_trainer_file(scratch.write(name, text), nothing_given);
  REQUIRE_FALSE(file);
  return file.error().front();
}

}  // namespace

TEST_CASE(
    "every key of every program sets a setting that takes its words, or says why it does not") {
  for (const TrainerProgram& program : trainer_programs()) {
    CAPTURE(program.name);
    CHECK_FALSE(program.marks.empty());
    CHECK_FALSE(program.source.empty());
    CHECK((program.trainer.empty() || find_trainer(program.trainer) != nullptr));
    for (const std::span<const TrainerKey> keys : program.keys) {
      for (const TrainerKey& key : keys) {
        CAPTURE(key.key);
        using Use = TrainerKey::Use;
        if (key.use == Use::kUnmodelled || key.use == Use::kRefused)
          CHECK(key.sets.find(' ') != key.sets.npos);  // words for people
        if (key.use != Use::kSets && key.use != Use::kElse && key.use != Use::kJoins) continue;
        const size_t dot = key.sets.find('.');
        const SettingRow* const row = find_setting(key.sets.substr(0, dot));
        REQUIRE(row != nullptr);
        CHECK((row->value.form == SettingValue::Form::kEntries) == (dot != key.sets.npos));
        for (const TrainerWord& word : key.words) {
          CAPTURE(word.written);
          Request into;
          if (!word.text.empty() && row->value.form == SettingValue::Form::kOne)
            CHECK(row->value.read(*row, word.text, into));
        }
      }
    }
  }
}

TEST_CASE("TrainingArguments, key by key") {
  const test::Scratch scratch;
  const TrainerFile file = read_as(scratch, "args.json", test::kHfArguments);
  CHECK(file.program->trainer == "hf");
  CHECK(texts_of_settings(file) == Texts{{"batch", "4"},
                                         {"accumulate", "8"},
                                         {"weight-decay", ""},
                                         {"clip-grad-norm", "0.5"},
                                         {"precision", "amp-bf16"},
                                         {"checkpoint", "blocks"},
                                         {"use-reentrant", ""},
                                         {"optimizer", "adamw-fused"},
                                         {"workers", "4"},
                                         {"compile", ""},
                                         {"fsdp", "all"},
                                         {"zero", "2"},
                                         {"fsdp-version", "1"}});
  CHECK(file.unused == std::vector<std::string>{"output_dir", "learning_rate"});
  CHECK(file.warnings.empty());
  REQUIRE(file.settings.notes().size() == 1);  // weights may be loaded in 16 bits
  const TrainerFile loaded = read_as(scratch, "loaded.json", R"({"per_device_train_batch_size": 1,
    "bf16": true, "torch_dtype": "bfloat16", "model_name_or_path": "Qwen/Qwen3-8B"})");
  CHECK(loaded.settings.text("precision") == "bf16");
  CHECK(loaded.settings.model == "Qwen/Qwen3-8B");
  CHECK(loaded.settings.notes().empty());
}

TEST_CASE("evaluation between steps, by a strategy, in batches of its own") {
  const test::Scratch scratch;
  const auto of_file = [&](const std::string& members) {
    const std::string text = R"({"per_device_train_batch_size": 1, )" + members + "}";
    const TrainerFile file = read_as(scratch, "evaluates.json", text);
    CHECK(file.warnings.empty());
    CHECK(file.unused.empty());
    const bool evaluates = !file.settings.text("eval-batch").empty();
    const bool told = !file.settings.notes().empty();  // that logits may be gathered
    CHECK(told == (evaluates && file.settings.text("eval-gather").empty() &&
                   members.find("prediction_loss_only") == members.npos));
    return file.settings.text("eval-batch") + ", " + file.settings.text("eval-gather");
  };
  CHECK(of_file(R"("eval_strategy": "no", "per_device_eval_batch_size": 8)") == ", ");
  CHECK(of_file(R"("per_device_eval_batch_size": 8)") == ", ");
  CHECK(of_file(R"("eval_strategy": "steps")") == "8, ");  // the default
  CHECK(of_file(R"("evaluation_strategy": "epoch", "per_device_eval_batch_size": 2)") == "2, ");
  CHECK(of_file(R"("eval_strategy": "epoch", "eval_accumulation_steps": 4)") == "8, 4");
  CHECK(of_file(R"("eval_strategy": "epoch", "batch_eval_metrics": true)") == "8, 1");
  CHECK(of_file(R"("eval_strategy": "epoch", "prediction_loss_only": true,
                   "eval_accumulation_steps": 4)") == "8, ");
  const auto batch_of = [&](const char* name, const std::string& text) {
    return read_as(scratch, name, text).settings.text("eval-batch");
  };
  const std::string axolotl = "base_model: a/b\nmicro_batch_size: 2\n";
  CHECK(batch_of("axolotl.yaml", axolotl + "val_set_size: 0.05\nevals_per_epoch: 4\n") == "2");
  CHECK(batch_of("axolotl.yaml", axolotl + "val_set_size: 0.05\neval_steps: 9\n"
                                           "eval_batch_size: 16\n") == "16");
  CHECK(batch_of("axolotl.yaml", axolotl + "val_set_size: 0\neval_steps: 9\n").empty());
  CHECK(batch_of("axolotl.yaml", axolotl + "val_set_size: 0.05\n").empty());
  const std::string torchtune =
      "model:\n  _component_: torchtune.models.llama2.llama2_7b\nbatch_size: 3\n";
  CHECK(batch_of("tune.yaml", torchtune + "run_val_every_n_steps: 50\n") == "3");
  CHECK(batch_of("tune.yaml", torchtune + "run_val_every_n_steps: 50\nbatch_size_val: 4\n") == "4");
  CHECK(batch_of("tune.yaml", torchtune + "run_val_every_n_steps: null\n").empty());
}

TEST_CASE("the same arguments in YAML; TRL's and LLaMA-Factory's have keys of their own") {
  const test::Scratch scratch;
  const TrainerFile yaml = read_as(scratch, "args.yaml",
                                   "per_device_train_batch_size: 3\nfp16: true\nfsdp: ''\n"
                                   "gradient_checkpointing: false\noptim: adafactor\n");
  CHECK(texts_of_settings(yaml) == Texts{{"batch", "3"},
                                         {"precision", "amp-fp16"},
                                         {"checkpoint", "none"},
                                         {"optimizer", "adafactor"}});
  const TrainerFile trl = read_as(scratch, "sft.yaml",
                                  "per_device_train_batch_size: 1\npacking: true\n"
                                  "max_length: 512\nuse_peft: true\nload_in_4bit: true\n"
                                  "lora_r: 64\nlora_target_modules: [q_proj, v_proj]\n");
  CHECK(trl.program->trainer == "trl");
  CHECK(texts_of_settings(trl) == Texts{{"batch", "1"},
                                        {"sequence", "512"},
                                        {"finetune", "qlora"},
                                        {"quantize", "nf4"},
                                        {"lora-rank", "64"},
                                        {"lora-targets", "q_proj,v_proj"}});
  const TrainerFile factory = read_as(scratch, "factory.yaml",
                                      "stage: sft\nfinetuning_type: lora\nlora_rank: 8\n"
                                      "lora_target: all\ncutoff_len: 1024\nbf16: true\n"
                                      "per_device_train_batch_size: 2\nflash_attn: fa2\n");
  CHECK(texts_of_settings(factory) == Texts{{"batch", "2"},
                                            {"sequence", "1024"},
                                            {"finetune", "lora"},
                                            {"lora-rank", "8"},
                                            {"lora-targets", "all-linear"},
                                            {"precision", "bf16"},
                                            {"attention", "flash"}});
}

TEST_CASE("axolotl's config, key by key") {
  const test::Scratch scratch;
  const TrainerFile file = read_as(scratch, "qlora.yml", test::kAxolotl);
  CHECK(file.settings.model == "meta-llama/Llama-3.1-8B");
  CHECK(texts_of_settings(file) == Texts{{"finetune", "qlora"},
                                         {"lora-rank", "32"},
                                         {"lora-alpha", "16"},
                                         {"lora-dropout", "0.05"},
                                         {"lora-targets", "all-linear"},
                                         {"sequence", "4096"},
                                         {"batch", "2"},
                                         {"accumulate", "4"},
                                         {"optimizer", "adam8bit"},
                                         {"precision", "bf16"},
                                         {"checkpoint", "blocks"},
                                         {"attention", "flash"},
                                         {"fsdp", "all"},
                                         {"fsdp-version", "2"},
                                         {"zero", "2"}});
  CHECK(file.unused == std::vector<std::string>{"datasets", "sample_packing", "learning_rate"});
  REQUIRE(file.warnings.size() == 1);  // pages of states
  CHECK(file.warnings.front().code == "W534");
  CHECK(file.warnings.front().place.line == 17);
}

TEST_CASE("torchtune's config, key by key") {
  const test::Scratch scratch;
  const TrainerFile file = read_as(scratch, "lora.yaml", test::kTorchtune);
  CHECK(file.program->trainer == "torchtune");
  CHECK(file.settings.model == "meta-llama/Llama-3.1-8B");
  CHECK(texts_of_settings(file) ==
        Texts{{"finetune", "lora"},
              {"lora-rank", "64"},
              {"lora-alpha", "128"},
              {"lora-dropout", "0.0"},
              {"lora-targets", "q_proj,v_proj,o_proj,gate_proj,up_proj,down_proj"},
              {"sequence", "2048"},
              {"batch", "2"},
              {"optimizer", "adamw-fused"},
              {"weight-decay", ""},
              {"loss-form", "chunked-linear"},
              {"accumulate", "8"},
              {"precision", "bf16"},
              {"checkpoint", "blocks"}});
  CHECK(file.unused == std::vector<std::string>{"output_dir", "tokenizer._component_",
                                                "tokenizer.path", "optimizer.lr"});
  const TrainerFile quantized = read_as(
      scratch, "qlora.yaml",
      "model:\n  _component_: torchtune.models.llama2.qlora_llama2_7b\nbatch_size: 1\n"
      "optimizer:\n  _component_: torch.optim.SGD\n  foreach: False\nfsdp_cpu_offload: False\n");
  CHECK(quantized.settings.model == "meta-llama/Llama-2-7b-hf");
  CHECK(quantized.settings.text("finetune") == "qlora");
  CHECK(quantized.settings.text("optimizer") == "sgd-loop");
  CHECK(quantized.settings.text("fsdp") == "all");
}

TEST_CASE("torchtitan's config, key by key") {
  const test::Scratch scratch;
  const TrainerFile file = read_as(scratch, "llama3_8b.toml", test::kTorchtitan);
  CHECK(file.program->trainer == "torchtitan");
  CHECK(file.settings.model == "meta-llama/Llama-3.1-8B");
  CHECK(texts_of_settings(file) == Texts{{"optimizer", "adamw-fused"},
                                         {"batch", "1"},
                                         {"sequence", "8192"},
                                         {"clip-grad-norm", "1"},
                                         {"checkpoint", "operators"},
                                         {"fsdp", "all"},
                                         {"precision", "mixed-bf16"}});
  const TrainerFile alone = read_as(
      scratch, "one.toml",
      "[model]\nname = \"qwen3\"\nflavor = \"8B\"\nconverters = [\"quantize.linear.float8\"]\n"
      "[optimizer]\nname = \"Adam\"\nimplementation = \"for-loop\"\n"
      "[training]\nlocal_batch_size = 2\nglobal_batch_size = 16\n"
      "[parallelism]\ndata_parallel_shard_degree = 4\nfsdp_reshard_after_forward = \"never\"\n"
      "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"2\"\n");
  CHECK(alone.settings.model == "Qwen/Qwen3-8B");
  CHECK(alone.settings.text("precision") == "mixed-fp8");
  CHECK(alone.settings.text("optimizer") == "adam-loop");
  CHECK(alone.settings.text("accumulate") == "2");
  CHECK(alone.settings.text("fsdp") == "4");
  CHECK(alone.settings.text("zero") == "2");
  CHECK(alone.settings.text("checkpoint") == "blocks/2");
  const TrainerFile single =
      read_as(scratch, "single.toml",
              "[parallelism]\ndata_parallel_shard_degree = 1\n[model]\n"
              "flavor = \"debugmodel\"\n[training]\nglobal_batch_size = 3\n");
  CHECK(single.settings.model.empty());
  CHECK(single.settings.text("precision") == "amp-bf16");
  CHECK(refused("bad.toml", "[model\n").code == "E359");
}

TEST_CASE("peft's LoraConfig as a file by itself") {
  const test::Scratch scratch;
  const TrainerFile file = read_as(scratch, "adapter_config.json", R"({"peft_type": "LORA", "r": 16,
    "lora_alpha": 32, "lora_dropout": 0.1, "target_modules": ["q_proj", "v_proj"], "bias": "none",
    "modules_to_save": null, "rank_pattern": {}, "use_dora": false, "task_type": "CAUSAL_LM",
    "base_model_name_or_path": "Qwen/Qwen3-8B"})");
  CHECK(file.settings.model == "Qwen/Qwen3-8B");
  CHECK(texts_of_settings(file) == Texts{{"finetune", "lora"},
                                         {"lora-rank", "16"},
                                         {"lora-alpha", "32"},
                                         {"lora-dropout", "0.1"},
                                         {"lora-targets", "q_proj,v_proj"}});
  CHECK(file.unused.empty());
}

TEST_CASE("accelerate counts processes of all machines") {
  const test::Scratch scratch;
  const TrainerFile file = read_as(scratch, "default_config.yaml", test::kAccelerate);
  CHECK(texts_of_settings(file) == Texts{{"fsdp", "all"},
                                         {"fsdp-version", "2"},
                                         {"checkpoint", "blocks"},
                                         {"offload", "parameters"},
                                         {"precision", "amp-bf16"},
                                         {"gpus", "8"},
                                         {"nodes", "2"}});
  CHECK(file.warnings.empty());
}

TEST_CASE("what programs offload, in the words of each") {
  const test::Scratch scratch;
  const auto offloads = [&](const char* name, const std::string& text) {
    return read_as(scratch, name, text).settings.text("offload");
  };
  const auto deepspeed = [&](const std::string& zero) {
    return offloads(
        "ds.json", R"({"train_micro_batch_size_per_gpu": 1, "zero_optimization": {)" + zero + "}}");
  };
  CHECK(deepspeed(R"("stage": 2, "offload_optimizer": {"device": "cpu"})") == "states");
  CHECK(deepspeed(R"("stage": 3, "offload_optimizer": {"device": "cpu"},
                     "offload_param": {"device": "cpu"})") == "states,parameters");
  CHECK(deepspeed(R"("stage": 2, "offload_optimizer": {"device": "none"})").empty());
  CHECK(deepspeed(R"("stage": 2, "cpu_offload": true)") == "states");
  CHECK(
      offloads("hf.json", R"({"per_device_train_batch_size": 1, "fsdp": "full_shard offload"})") ==
      "parameters");
  CHECK(offloads("tune.yaml",
                 "model:\n  _component_: torchtune.models.llama2.llama2_7b\nbatch_size: 1\n"
                 "enable_activation_offloading: True\nfsdp_cpu_offload: True\n") ==
        "activations,parameters");
  CHECK(offloads("axolotl.yaml", "base_model: a/b\ngradient_checkpointing: offload\n") ==
        "activations");
  const TrainerFile disk =
      read_as(scratch, "disk.yaml", "base_model: a/b\ngradient_checkpointing: offload_disk\n");
  CHECK(disk.settings.text("offload").empty());
  REQUIRE(disk.warnings.size() == 1);
  CHECK(disk.warnings.front().code == "W534");
}

TEST_CASE("a config of DeepSpeed, by itself, in a file and named by one") {
  const test::Scratch scratch;
  const std::string config = R"({"train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto", "gradient_clipping": 0.5, "bf16": {"enabled": "auto"},
    "zero_optimization": {"stage": 3, "offload_param": {"device": "none"}}})";
  const TrainerFile alone = read_as(scratch, "zero3.json", config);
  CHECK(texts_of_settings(alone) == Texts{{"zero", "3"}, {"clip-grad-norm", "0.5"}});
  const std::string arguments = R"({"per_device_train_batch_size": 2, "bf16": true, "deepspeed": )";
  const TrainerFile named = read_as(scratch, "named.json", arguments + "\"zero3.json\"}");
  const Texts both = {
      {"batch", "2"}, {"precision", "mixed-bf16"}, {"zero", "3"}, {"clip-grad-norm", "0.5"}};
  CHECK(texts_of_settings(named) == both);
  CHECK(texts_of_settings(read_as(scratch, "held.json", arguments + config + "}")) == both);
  const TrainerFile adapters = read_as(scratch, "lora.yaml",
                                       "base_model: a/b\nadapter: lora\nbf16: true\n"
                                       "deepspeed: zero3.json\n");
  CHECK(adapters.settings.text("precision") == "bf16");  // copies of what is trained alone
  CHECK(refused("lost.json", arguments + "\"no such.json\"}").code == "E601");
  const Diagnostic twice =
      refused("twice.json", arguments + R"({"train_micro_batch_size_per_gpu": 8}})");
  CHECK(twice.code == "E114");
}

TEST_CASE("how far DeepSpeed gathers ahead, and the type of gradients that are summed") {
  const test::Scratch scratch;
  const TrainerFile three = read_as(scratch, "zero3.json", R"({"communication_data_type": "bf16",
    "zero_optimization": {"stage": 3, "stage3_prefetch_bucket_size": 5e7, "stage3_max_live_parameters": 2e9,
    "stage3_param_persistence_threshold": "auto"}})");
  CHECK(texts_of_settings(three) == Texts{{"zero", "3"},
                                          {"zero-prefetch", "50000000"},
                                          {"zero-live", "2000000000"},
                                          {"reduce-dtype", "bf16"}});
  const TrainerFile two =
      read_as(scratch, "zero2.json",
              R"({"zero_optimization": {"stage": 2, "stage3_max_live_parameters": 1e9}})");
  CHECK(texts_of_settings(two) == Texts{{"zero", "2"}});
  const TrainerFile titan = read_as(scratch, "t.toml",
                                    "[training]\nlocal_batch_size = 1\n"
                                    "mixed_precision_reduce = \"float32\"\n");
  CHECK(titan.settings.text("reduce-dtype") == "fp32");
}

TEST_CASE("what torchtune builds and ships here has its name") {
  const std::vector<std::string> shipped = published_models();
  const test::Scratch scratch;
  for (const char* builder : {"llama3_1.llama3_1_8b", "qwen3.lora_qwen3_8b_instruct",
                              "phi3.phi3_mini", "gemma2.lora_gemma2_9b"}) {
    const TrainerFile file =
        read_as(scratch, "c.yaml",
                std::string("model:\n  _component_: torchtune.models.") + builder + "\n");
    CHECK(std::ranges::find(shipped, file.settings.model) != shipped.end());
  }
}

TEST_CASE("values that are not modelled are refused by their key, with what changes it") {
  const Diagnostic optimizer =
      refused("a.json", R"({"per_device_train_batch_size": 1, "optim": "lomo"})");
  CHECK(optimizer.code == "E357");
  CHECK(optimizer.message.find("optim: lomo") != std::string::npos);
  CHECK(optimizer.help.find("optimizer") != std::string::npos);
  CHECK(refused("a.yaml", "base_model: a/b\nlora_modules_to_save: [lm_head]\n").code == "E357");
  CHECK(refused("a.yaml", "base_model: a/b\nrl: dpo\n").code == "E357");
  CHECK(refused("a.json", R"({"peft_type": "IA3"})").code == "E357");
  CHECK(refused("a.json", R"({"peft_type": "LORA", "target_modules": ".*proj"})").code == "E357");
  CHECK(refused("a.json", R"({"peft_type": "LORA", "use_dora": true})").code == "E357");
  const Diagnostic both =
      refused("a.json", R"({"per_device_train_batch_size": 1, "finetuning_type": "lora",
      "bf16": true, "cutoff_len": 4, "max_seq_length": 5})");
  CHECK(both.code == "E114");
}

TEST_CASE("hostile files: no config, wrong kinds, huge numbers, no end of keys") {
  CHECK(refused("a.json", R"({"architectures": ["LlamaForCausalLM"]})").code == "E358");
  CHECK(refused("a.json", "[1, 2]").code == "E358");
  CHECK(refused("a.json", "{").code.starts_with("E3"));
  CHECK(refused("a.yaml", "base_model: &x y\n").code == "E350");
  CHECK(refused("a.yaml", "base_model: 7\n").code == "E311");
  for (const char* value : {"99999999999999999999", "-1", "1.5", "\"many\"", "0"}) {
    CAPTURE(value);
    const Diagnostic fault =
        refused("a.json", std::string(R"({"per_device_train_batch_size": )") + value + "}");
    CHECK(fault.code == "E103");
    CHECK(fault.place.line == 1);
    CHECK(fault.message.find("per_device_train_batch_size") != std::string::npos);
  }
  CHECK(refused("a.json", R"({"per_device_train_batch_size": {"a": 1}})").code == "E311");
  CHECK(refused("a.yaml", "base_model: a/b\nlora_target_modules: [{a: 1}]\n").code == "E311");
  CHECK(refused("a.yaml", "base_model: a/b\nbf16: {a: 1}\n").code == "E311");
  std::string many = R"({"per_device_train_batch_size": 1)";
  for (int i = 0; i < 20000; ++i) many += ", \"k" + std::to_string(i) + "\": 1";
  const test::Scratch scratch;
  const auto file = read_trainer_file(scratch.write("many.json", many + "}"), nothing_given);
  REQUIRE(file);
  CHECK(file->unused.size() == 20000);
}

TEST_CASE("two types of mixed precision at once are refused, as their programs refuse them") {
  for (const auto& file :
       {std::pair("a.json", R"({"per_device_train_batch_size": 4, "bf16": true, "fp16": true})"),
        std::pair("b.yaml", "base_model: me/mine\nbf16: auto\nfp16: true\n"),
        std::pair("c.json", R"({"train_batch_size": 4, "bf16": {"enabled": true},
                               "fp16": {"enabled": true}})")}) {
    CAPTURE(std::string(file.first));
    const Diagnostic both = refused(file.first, file.second);
    CHECK(both.code == "E114");
    CHECK(both.message.find("fp16") != std::string::npos);
  }
  // One of them beside TF32 or beside the type that weights are loaded in is one.
  const test::Scratch scratch;
  const Texts one = texts_of_settings(
      read_as(scratch, "d.json",
              R"({"per_device_train_batch_size": 4, "bf16": true, "fp16": false, "tf32": true})"));
  CHECK(one.at("precision") == "amp-bf16");
  const Texts loaded = texts_of_settings(
      read_as(scratch, "e.json",
              R"({"per_device_train_batch_size": 4, "torch_dtype": "bfloat16", "bf16": true})"));
  CHECK(loaded.at("precision") == "bf16");
}

}  // namespace plimsoll
