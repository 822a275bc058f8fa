// Forms of a language model's loss, and blocks that keep results of some operators, against PyTorch
// itself (tests/oracles/loss_forms.py).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/golden_differences.h"
#include "tests/support/golden_memory.h"

namespace plimsoll {
namespace {

test::GoldenCase loss_case_of(const nlohmann::json& golden, const nlohmann::json& one) {
  test::GoldenCase wanted = test::language_case(golden, one);
  std::string form = one["form"];
  constexpr std::string_view kShifted = " shifted";
  wanted.shifts_scores = form.ends_with(kShifted);
  if (wanted.shifts_scores) form.resize(form.size() - kShifted.size());
  wanted.loss_form = test::kLossForms.at(form);
  // Its parts of scores have no names there, as torchtune's.
  wanted.keeps_outputs = one.value("keeps", true) && wanted.loss_form != LossForm::kChunked;
  if (one["by_operator"].get<bool>()) wanted.checkpoint = "operators";
  if (one["lora"].get<bool>()) {
    wanted.finetune.kind = FinetuneKind::kLora;
    wanted.finetune.targets = "all-linear";
    wanted.finetune.adapters_wide = one.value("adapters_wide", true);
  }
  return wanted;
}

}  // namespace

TEST_CASE("losses and checkpoints by operator take what PyTorch's step takes") {
  const auto golden = test::read_golden("memory/loss_forms.json");
  test::GoldenModels models("a100-sxm-40gb");
  test::Errors saved, peak, shifted;
  size_t wrong_phases = 0;
  for (const auto& one : golden["cases"]) {
    const bool by_operator = one["by_operator"];
    const std::string what = fmt::format(
        "{} {}{}{}{}{}", one["form"].get<std::string>(), one["precision"].get<std::string>(),
        one["lora"].get<bool>() ? " lora" : "", by_operator ? " by operator" : "",
        one.value("keeps", true) ? "" : ", outputs let go",
        one.value("adapters_wide", true) ? "" : ", adapters as their layer");
    CAPTURE(what);
    const auto got = models.config_figures(golden["config"].dump(), loss_case_of(golden, one));
    const std::string why = got ? "" : got.error().front().message;
    CHECK_MESSAGE(got, what, ": ", why);
    if (!got) continue;
    // What PyTorch's checkpoints by operator put by is not among what its hooks see.
    if (!by_operator) saved.add(what, got->saved, one["saved"]);
    const bool moved = one["form"].get<std::string>().ends_with(" shifted");
    (moved ? shifted : peak).add(what, got->peak, one["peak"]);
    // The oracle's forward pass has the loss in it.
    wrong_phases += (got->phase == "loss" ? "forward" : got->phase) != one["phase"];
  }
  MESSAGE("saved: ", saved.text());
  MESSAGE("peak: ", peak.text());
  CHECK(wrong_phases == 0);
  test::check_differences("loss forms saved", saved);
  test::check_differences("loss forms peak", peak);
  CHECK(saved.share_within(0.0005) == 1);
  CHECK(peak.share_within(0.0005) == 1);
  // Their peak is in the loss, where the model's forward() still names the last hidden states,
  // which nothing here keeps where the head is frozen or reads a cast copy: each is listed.
  test::check_differences("shifted losses peak", shifted);
}

// Two sequences of 65 tokens and 2,048 words. Later releases keep log-probabilities of all
// positions in fp32 and 130 targets; GPT-BigCode before 4.49 those of 64 positions in 16 bits and
// 128 targets.
TEST_CASE("a loss that copied its scores without widening them keeps 16 bits") {
  const std::string config = R"({"model_type": "gpt_bigcode", "n_embd": 64, "n_layer": 1,
    "n_head": 2, "vocab_size": 2048, "n_positions": 128})";
  test::GoldenModels models("a100-sxm-40gb");
  test::GoldenCase wanted;
  wanted.batch = 2;
  wanted.mode = "adam";
  wanted.dims["sequence"] = 65;
  wanted.attention = AskedAttention::kSdpa;
  const auto saved = [&](const char* precision, bool shifts) {
    wanted.precision = find_precision(precision);
    wanted.shifts_scores = shifts;
    const auto got = models.config_figures(config, wanted);
    return got ? got->saved : 0;
  };
  constexpr int64_t kWide = 2 * 65 * 2048 * 4 + 1536, kNarrow = 2 * 64 * 2048 * 2 + 1024,
                    kCopied = 2 * 64 * 2048 * 4 + 1024;
  CHECK(saved("bf16", false) - saved("bf16", true) == kWide - kNarrow);
  // Under autocast the cross entropy widens them itself.
  CHECK(saved("autocast-bf16", false) - saved("autocast-bf16", true) == kWide - kCopied);
}

}  // namespace plimsoll
