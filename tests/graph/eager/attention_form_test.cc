// What the table of tests/estimator/request/attention_kernels_test.cc does not reach.
#include "graph/eager/attention_form.h"

#include <doctest/doctest.h>

namespace plimsoll::eager {
namespace {

constexpr AttentionKernels kAmpere{.flash = true, .alignment = 4, .half_alignment = 8};
constexpr AttentionKernels kHopper{
    .library = true, .flash = true, .alignment = 4, .half_alignment = 8};

struct Bench {
  explicit Bench(const AttentionKernels& kernels) { policy.attention = kernels; }

  // [N, heads, S, D] operands that are trained.
  std::optional<AttentionForm> form(DType dtype, const Shape& q, const Shape& k, const Shape& v,
                                    const AttentionOptions& options = {}) {
    const AttentionOperands o{
        machine.parameter(dtype, q), machine.parameter(dtype, k), machine.parameter(dtype, v), {}};
    return attention_form(machine, o, options);
  }
  std::optional<AttentionForm> form(DType dtype, const Shape& all) {
    return form(dtype, all, all, all);
  }

  Recipe recipe;
  Policy policy;
  Binding hints{{"H", 64}};
  Decider decider{hints};
  Machine machine{recipe, policy, decider};
};

constexpr auto kHalf = DType::kFloat16;
const Shape kUsual{2, 4, 24, 64};

}  // namespace

TEST_CASE("attention form: each operator's own type decides") {
  Bench b(kAmpere);
  CHECK(b.form(kHalf, kUsual) == AttentionForm::kFlash);
  CHECK(b.form(DType::kFloat32, kUsual) == AttentionForm::kMemoryEfficient);
  CHECK_FALSE(b.form(DType::kFloat64, kUsual));
}

TEST_CASE(
    "attention form: flash is causal for as many queries as keys, and has one size of heads") {
  Bench b(kAmpere);
  const Shape fewer{2, 4, 16, 64}, narrow{2, 4, 24, 32};
  CHECK(b.form(kHalf, fewer, kUsual, kUsual) == AttentionForm::kFlash);
  CHECK(b.form(kHalf, fewer, kUsual, kUsual, {.causal = true}) == AttentionForm::kMemoryEfficient);
  CHECK(b.form(kHalf, kUsual, kUsual, narrow) == AttentionForm::kMemoryEfficient);
}

TEST_CASE("attention form: no kernel repeats one sample for many") {
  Bench b(kAmpere);
  CHECK_FALSE(b.form(kHalf, {1, 4, 24, 64}, kUsual, kUsual));
}

TEST_CASE("attention form: keys that heads share are no reason against a kernel") {
  Bench b(kAmpere);
  const Shape shared{2, 2, 24, 64};
  CHECK(b.form(kHalf, kUsual, shared, shared) == AttentionForm::kFlash);
}

TEST_CASE("attention form: the library takes no single key, and heads of 192 with values of 128") {
  Bench b(kHopper);
  CHECK(b.form(kHalf, kUsual) == AttentionForm::kLibrary);
  CHECK(b.form(kHalf, {2, 4, 24, 64}, {2, 4, 1, 64}, {2, 4, 1, 64}) == AttentionForm::kFlash);
  CHECK(b.form(kHalf, {2, 4, 24, 192}, {2, 4, 24, 192}, {2, 4, 24, 128}) ==
        AttentionForm::kLibrary);
  CHECK(b.form(kHalf, {2, 4, 24, 160}) == AttentionForm::kFlash);
}

TEST_CASE("attention form: a size that decides is guarded") {
  Bench b(kAmpere);
  const Dim head = Dim::symbol("H");
  CHECK(b.form(DType::kFloat32, {2, 4, 24, head}) == AttentionForm::kMemoryEfficient);
  CHECK(b.decider.guards().size() == 1);
}

}  // namespace plimsoll::eager
