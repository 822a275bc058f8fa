// Flags of other programs: one line says what stands for them here.
#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "tests/support/run_plimsoll.h"

using namespace plimsoll::test;

TEST_CASE("cli: flags of other programs are answered with what stands for them") {
  if (skipped()) return;
  for (const auto& [flag, help] :
       {std::pair("--fsdp2", "--fsdp shards"), std::pair("--zero-stage", "--zero 1, 2 or 3"),
        std::pair("--tensor-parallel-size", "--tp N splits"), std::pair("--cp", "are not split"),
        std::pair("--lora", "--finetune lora"), std::pair("--qlora", "qlora"),
        std::pair("--load-in-4bit", "--quantize nf4"), std::pair("--kv-cache", "--mode serve"),
        std::pair("--context-length", "--mode serve"), std::pair("--offload", "--checkpoint"),
        std::pair("-b", "--batch N"), std::pair("--bs", "--batch N"),
        std::pair("--batch-size", "--batch N"), std::pair("--seq-len", "--dim sequence=N"),
        std::pair("--img-size", "--image N")}) {
    const Ran ran = run_plimsoll({"estimate", "builtin:resnet50", "--gpu", "t4", flag, "32"});
    CAPTURE(ran.err);
    CHECK(ran.status == 2);
    CHECK(says(ran, std::string("unknown flag ") + flag));
    CHECK(says(ran, help));
    CHECK_FALSE(says(ran, "did you mean"));
  }
  CHECK(says(run_plimsoll({"check", "p.yaml", "--wide"}), "--json"));
  CHECK(says(run_plimsoll({"estimate", "builtin:mlp", "--precison", "fp16"}),
             "did you mean --precision?"));
}
