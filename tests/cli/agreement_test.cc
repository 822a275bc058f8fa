// Sizes that two flags give, and links that a card does not have.
#include <doctest/doctest.h>

#include <tuple>

#include "tests/support/run_plimsoll.h"

using namespace plimsoll::test;

namespace {

Ran estimated(std::vector<std::string> words, const char* verb = "estimate") {
  words.insert(words.begin(), verb);
  words.insert(words.end(), {"--gpu", "t4"});
  return run_plimsoll(std::move(words));
}

void refused(const std::vector<std::string>& words, const std::string& code,
             const char* verb = "estimate") {
  const Ran ran = estimated(words, verb);
  CAPTURE(words.back());
  CAPTURE(ran.err);
  CHECK(ran.status == 2);
  CHECK(says(ran, "[" + code + "]"));
}

}  // namespace

TEST_CASE("cli: flags that contradict each other are refused, by every verb") {
  if (skipped()) return;
  refused({"builtin:resnet50", "--batch", "4", "--dim", "batch=8"}, "E114");
  refused({"builtin:mlp", "--dim", "batch=8", "--batch", "4"}, "E114");
  refused({"builtin:resnet50", "--batch", "4", "--dim", "batch=8"}, "E114", "max-batch");
  refused({"builtin:mlp", "--dim", "width=32", "--set", "width=64"}, "E114");
  refused({"builtin:gpt2", "--dim", "sequence=32", "--set", "sequence=64"}, "E114");
  refused({"builtin:gpt2", "--batch", "2", "--set", "batch=4"}, "E114");
  CHECK(estimated({"builtin:resnet50", "--batch", "8", "--dim", "batch=8"}).status == 0);
}

TEST_CASE("cli: the longest batch is no shorter than the usual one") {
  if (skipped()) return;
  refused({"builtin:bert-base", "--longest", "sequence=8"}, "E114");
  refused({"builtin:bert-base", "--longest", "sequence=8"}, "E114", "max-batch");
  refused({"builtin:bert-base", "--dim", "sequence=64", "--longest", "sequence=8"}, "E114");
  refused({"builtin:bert-base", "--lengths", "sequence=64:1,32:1", "--longest", "sequence=48"},
          "E114");
  CHECK(estimated({"builtin:bert-base", "--batch", "1", "--dim", "sequence=8", "--longest",
                   "sequence=64"})
            .status == 0);
}

TEST_CASE("cli: GPUs are not joined by what their card does not have") {
  if (skipped()) return;
  const auto joined = [](const char* gpu, const char* link) {
    return run_plimsoll({"estimate", "builtin:mlp", "--gpus", "2", "--gpu", gpu, "--link", link});
  };
  for (const auto& [gpu, link, what] :
       {std::tuple("t4", "nvlink-3", "no NVLink"), std::tuple("rtx-4090", "nvlink-2", "no NVLink"),
        std::tuple("tesla-v100-sxm2-16gb", "nvlink-4", "NVLink 2"),
        std::tuple("h800", "nvlink-4", "8 links of NVLink 4"),
        std::tuple("t4", "pcie-5-x16", "PCIe 3")}) {
    const Ran ran = joined(gpu, link);
    CAPTURE(ran.err);
    CHECK(ran.status == 2);
    CHECK(says(ran, "[E116]"));
    CHECK(says(ran, what));
  }
  CHECK(joined("t4", "pcie-3-x16").status == 0);
  CHECK(joined("a100-sxm-80gb", "pcie-3-x16").status == 0);  // a slower slot
  CHECK(joined("tesla-v100-sxm2-16gb", "nvlink-2-dgx-2").status == 0);
}

TEST_CASE("cli: max-batch says what of a size that it varies has no effect, and names --vary") {
  if (skipped()) return;
  const std::vector<std::string> search = {"max-batch", "builtin:gpt2", "--gpu", "l4"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), search.begin(), search.end());
    return run_plimsoll(more);
  };
  CHECK(says(with({"--dim", "batch=8"}), "--dim batch=8 has no effect on max-batch"));
  CHECK(says(with({"--vary", "sequence", "--dim", "sequence=64"}),
             "--dim sequence=64 has no effect on max-batch"));
  CHECK(says(with({"--batch", "8"}), "--batch has no effect on max-batch"));
  const Ran unknown = with({"--vary", "width"});
  CHECK(unknown.status == 2);
  CHECK(says(unknown, "--vary: the model has no dimension 'width' [E113]"));
  // The model's own batch, as estimate has it.
  CHECK(with({"--vary", "sequence"}).out.find("at batch 8\n") != std::string::npos);
  CHECK(with({"--vary", "sequence", "--batch", "2"}).out.find("at batch 2\n") != std::string::npos);
}

TEST_CASE("cli: a setting without effect names a value that gives it one") {
  if (skipped()) return;
  const auto warned = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"estimate", "builtin:gpt2", "--gpu", "l4"});
    return run_plimsoll(more);
  };
  CHECK(says(warned({"--lora-rank", "8"}), "without --finetune lora there are no adapters"));
  CHECK(says(warned({"--kbit-prepare", "off"}), "with --finetune qlora"));
  CHECK(says(warned({"--engine", "vllm"}), "the model is not served; see --mode serve"));
  CHECK(says(warned({"--quantize", "nf4"}), "only embeddings and norms are [W239]"));
  CHECK(!says(warned({"--quantize", "nf4", "--finetune", "qlora"}), "W239"));
  CHECK(!says(warned({"--quantize", "nf4", "--mode", "inference"}), "W239"));
}
