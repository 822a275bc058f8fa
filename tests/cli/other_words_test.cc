// Flags of other programs: one line says what stands for them here.
#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "tests/support/run_plimsoll.h"

using namespace plimsoll::test;

TEST_CASE("cli: flags of other programs are answered with what stands for them") {
  if (skipped()) return;
  for (const auto& [flag, help] : {std::pair("--fsdp2", "--fsdp shards"),
                                   std::pair("--zero-stage", "--zero 1, 2 or 3"),
                                   std::pair("--tensor-parallel-size", "--tp N splits"),
                                   std::pair("--context-parallel", "--cp N splits"),
                                   std::pair("--hsdp", "--parallel fsdp=N,dp=M"),
                                   std::pair("--ddp", "every GPU has the whole model"),
                                   std::pair("--lora", "--finetune lora"),
                                   std::pair("--qlora", "qlora"),
                                   std::pair("--load-in-4bit", "--quantize nf4"),
                                   std::pair("--kv-cache", "--mode serve"),
                                   std::pair("--context-length", "--mode serve"),
                                   std::pair("--cpu-offload", "--offload states"),
                                   std::pair("-b", "--batch N"),
                                   std::pair("--bs", "--batch N"),
                                   std::pair("--batch-size", "--batch N"),
                                   std::pair("--seq-len", "--dim sequence=N"),
                                   std::pair("--img-size", "--image N"),
                                   std::pair("--sequence", "--dim sequence=N"),
                                   std::pair("--num-nodes", "--nodes N"),
                                   std::pair("--lr", "neither memory nor time"),
                                   std::pair("--model", "is the first argument"),
                                   std::pair("--device", "plimsoll gpus"),
                                   std::pair("--max-num-seqs", "--mode serve")}) {
    const Ran ran = run_plimsoll({"estimate", "builtin:resnet50", "--gpu", "t4", flag, "32"});
    CAPTURE(ran.err);
    CHECK(ran.status == 2);
    CHECK(says(ran, std::string("unknown option ") + flag));
    CHECK(says(ran, help));
    CHECK_FALSE(says(ran, "did you mean"));
  }
  CHECK(says(run_plimsoll({"check", "p.yaml", "--wide"}), "--json"));
  CHECK(says(run_plimsoll({"estimate", "builtin:mlp", "--precison", "fp16"}),
             "did you mean --precision?"));
}

TEST_CASE("cli sweep: a plan's names of other programs are settings, or refused by their own") {
  if (skipped()) return;
  const Scratch scratch;
  const auto swept = [&](const std::string& parameter) {
    scratch.write("p.yaml", "model: builtin:bert-base\nparameters: {gpu: t4, " + parameter + "}\n");
    return run_plimsoll({"sweep", "p.yaml", "--json"}, {.folder = scratch.path("")});
  };
  const auto device_bytes = [](const Ran& ran) {
    const size_t at = ran.out.find("\"device_bytes\"");
    return at == ran.out.npos ? std::string() : ran.out.substr(at, 40);
  };
  for (const auto& [other, own] : {std::pair("per_device_train_batch_size: [2]", "batch: [2]"),
                                   std::pair("seq_len: [64]", "sequence: [64]"),
                                   std::pair("gradient_accumulation_steps: [2]", "accumulate: [2]"),
                                   std::pair("optim: [sgd]", "optimizer: [sgd]")}) {
    const Ran one = swept(other), same = swept(own);
    CHECK(one.status == same.status);
    CHECK_FALSE(device_bytes(one).empty());
    CHECK(device_bytes(one) == device_bytes(same));
  }
  for (const auto& [parameter, help] :
       {std::pair("gradient_checkpointing: [true]", "--checkpoint"),
        std::pair("bf16: [true]", "--precision"), std::pair("lora_r: [8]", "--lora-rank")}) {
    const Ran ran = swept(parameter);
    CHECK(ran.status == 2);
    CHECK(says(ran, "[E101]"));
    CHECK(says(ran, help));
  }
  CHECK(says(swept("learning_rate: [0.1]"), "changes nothing here"));
  CHECK(swept("width: [3]").status == 0);  // the user's own program's
}
