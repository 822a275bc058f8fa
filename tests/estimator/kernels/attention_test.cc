#include "estimator/kernels/attention.h"

#include <doctest/doctest.h>

namespace plimsoll {
namespace {

constexpr AttentionRates kHopper{989.4e12, 3.352e12, 90};
constexpr AttentionRates kHopper32{66.9e12, 3.352e12, 90};

AttentionProblem<int64_t> problem(int64_t batch, int64_t heads, int64_t tokens, int64_t head,
                                  AttentionForm form, bool causal = false) {
  return {.form = form,
          .batch = batch,
          .heads = heads,
          .kv_heads = heads,
          .queries = tokens,
          .keys = tokens,
          .head_size = head,
          .value_size = head,
          .causal = causal};
}

double milliseconds(const AttentionProblem<int64_t>& p, Pass pass, double bytes,
                    const AttentionRates& rates) {
  return attention_cost(p, pass, bytes, rates).seconds * 1e3;
}

// PyTorch 2.11 on H100, calibrate/measure: milliseconds of one call.
TEST_CASE("fused attention on Hopper takes what was measured") {
  struct Row {
    int64_t batch, heads, tokens, head;
    bool causal;
    double forward, backward;
  };
  constexpr Row kLibrary[] = {{32, 12, 512, 64, false, .068, .268},
                              {8, 16, 2048, 64, false, .294, .853},
                              {4, 16, 4096, 128, false, .843, 2.545},
                              {4, 16, 4096, 128, true, .495, 1.493},
                              {64, 12, 197, 64, false, .046, .177}};
  for (const Row& row : kLibrary) {
    CAPTURE(row.tokens);
    const auto p =
        problem(row.batch, row.heads, row.tokens, row.head, AttentionForm::kLibrary, row.causal);
    CHECK(milliseconds(p, Pass::kForward, 2, kHopper) == doctest::Approx(row.forward).epsilon(.2));
    CHECK(milliseconds(p, Pass::kBackward, 2, kHopper) ==
          doctest::Approx(row.backward).epsilon(.2));
  }
  constexpr Row kFlash[] = {{32, 12, 512, 64, false, 0.10285, 0.41309},
                            {8, 16, 2048, 64, false, 0.46647, 1.4201},
                            {4, 16, 4096, 128, false, 1.5457, 4.7952},
                            {4, 16, 4096, 128, true, 0.89542, 2.7089},
                            {64, 12, 197, 64, false, 0.064514, 0.30094}};
  for (const Row& row : kFlash) {
    CAPTURE(row.tokens);
    const auto p =
        problem(row.batch, row.heads, row.tokens, row.head, AttentionForm::kFlash, row.causal);
    CHECK(milliseconds(p, Pass::kForward, 2, kHopper) == doctest::Approx(row.forward).epsilon(.2));
    CHECK(milliseconds(p, Pass::kBackward, 2, kHopper) ==
          doctest::Approx(row.backward).epsilon(.2));
  }
  constexpr Row kWhole[] = {{32, 12, 512, 64, false, .801, 2.058},
                            {8, 16, 2048, 64, false, 3.981, 10.276},
                            {4, 16, 4096, 128, false, 11.868, 37.724}};
  for (const Row& row : kWhole) {
    CAPTURE(row.tokens);
    const auto p = problem(row.batch, row.heads, row.tokens, row.head,
                           AttentionForm::kMemoryEfficient, row.causal);
    CHECK(milliseconds(p, Pass::kForward, 4, kHopper32) ==
          doctest::Approx(row.forward).epsilon(.15));
    CHECK(milliseconds(p, Pass::kBackward, 4, kHopper32) ==
          doctest::Approx(row.backward).epsilon(.15));
  }
}

TEST_CASE("attention grows with the tokens, and causal attention is shorter") {
  double before = 0;
  for (int64_t tokens = 64; tokens <= 8192; tokens *= 2) {
    const auto whole = problem(4, 12, tokens, 64, AttentionForm::kFlash);
    const auto causal = problem(4, 12, tokens, 64, AttentionForm::kFlash, true);
    const double time = milliseconds(whole, Pass::kForward, 2, kHopper);
    CHECK(time >= before);
    CHECK(milliseconds(causal, Pass::kForward, 2, kHopper) <= time);
    before = time;
  }
}

}  // namespace
// Dao 2023 (arXiv:2307.08691, section 4.1): 30 to 50 and 25 to 35 % of an A100's peak before
// flash-attn 2.0, 50 to 73 and 44 to 63 % from there on.
TEST_CASE("flash-attn before 2.0 reaches a smaller share of the peak") {
  const auto p = problem(4, 16, 4096, 128, AttentionForm::kFlash, true);
  AttentionRates ampere{312e12, 2.039e12, 80};
  const double flop = 4.0 * 4 * 16 * 4096 * 2048 * 128;
  CHECK(milliseconds(p, Pass::kForward, 2, ampere) == doctest::Approx(flop / (.55 * 312e9)));
  ampere.first_flash = true;
  CHECK(milliseconds(p, Pass::kForward, 2, ampere) == doctest::Approx(flop / (.40 * 312e9)));
  CHECK(milliseconds(p, Pass::kBackward, 2, ampere) == doctest::Approx(2.5 * flop / (.30 * 312e9)));
  // Of PyTorch's other kernels there is one version.
  const auto other = problem(4, 16, 4096, 128, AttentionForm::kMemoryEfficient, true);
  AttentionRates hopper = kHopper;
  const double before = milliseconds(other, Pass::kForward, 2, hopper);
  hopper.first_flash = true;
  CHECK(milliseconds(other, Pass::kForward, 2, hopper) == before);
  CHECK(milliseconds(p, Pass::kForward, 2, hopper) >
        1.3 * milliseconds(p, Pass::kForward, 2, kHopper));
}

}  // namespace plimsoll
