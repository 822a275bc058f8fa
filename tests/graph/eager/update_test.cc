#include "graph/eager/update.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::eager {
namespace {

// Kernels of an update of two gradients, of 70,000 and 30 elements, by name.
std::map<std::string, Kernel> update_kernels(std::optional<double> clip) {
  Recipe recipe;
  recipe.clip_grad_norm = clip;
  const Policy policy;
  Decider decider({});
  Machine m(recipe, policy, decider);
  for (const int64_t count : {70000, 30}) {
    m.parameter(DType::kFloat32, {count});
    m.leaves().back()->gradient = m.resident(DType::kFloat32, {count}, Role::kGradient);
    m.leaves().back()->reached = true;
  }
  make_states(m);
  update(m, {});
  for (const auto& leaf : m.leaves()) leaf->gradient = {};
  const Step step = m.finish();
  std::map<std::string, Kernel> kernels;
  for (const Kernel& kernel : step.kernels) kernels[kernel.op] = kernel;
  return kernels;
}

// Two gradients in 16 bits, of 70,000 and 30 elements, for copies of weights in 32.
Step half_update(const Recipe& recipe) {
  const Policy policy;
  Decider decider({});
  Machine m(recipe, policy, decider);
  for (const int64_t count : {70000, 30}) {
    m.parameter(DType::kBFloat16, {count});
    m.leaves().back()->gradient = m.allocate(DType::kBFloat16, {count});
    m.leaves().back()->reached = true;
  }
  make_states(m);
  update(m, {});
  for (const auto& leaf : m.leaves()) leaf->gradient = {};
  return m.finish();
}

std::vector<int64_t> allocated(const Step& step) {
  std::vector<int64_t> sizes;
  for (const Event& e : step.events) {
    if (e.kind == Event::Kind::kAllocate) sizes.push_back(*step.buffers[e.id].bytes.constant());
  }
  return sizes;
}

}  // namespace

TEST_CASE("update: a clipped norm reads all gradients, then multiplies them in place") {
  constexpr int64_t kBytes = (70000 + 30) * 4;
  const auto kernels = update_kernels(1.0);
  const Kernel& norm = kernels.at("foreach_norm");
  CHECK(norm.read == Dim(kBytes));
  CHECK(norm.written == Dim(2 * 4));
  CHECK(std::get<RowsProblem<Dim>>(norm.problem) == RowsProblem<Dim>{2, 70000});
  CHECK(kernels.at("foreach_mul").read == Dim(kBytes));
  CHECK(kernels.at("foreach_mul").written == Dim(kBytes));
  CHECK(kernels.contains("norm"));
}

TEST_CASE("update: nothing is clipped unless that is asked for") {
  const auto kernels = update_kernels(std::nullopt);
  CHECK_FALSE(kernels.contains("foreach_norm"));
  CHECK_FALSE(kernels.contains("foreach_mul"));
}

// Stage 1 of ZeRO: gradients are joined, then cast; temporaries are arrays of all.
TEST_CASE("update: arrays that weights are joined to take temporaries of all weights") {
  Recipe recipe;
  recipe.precision = find_precision("mixed-bf16");
  recipe.parallel.sharded = Sharded::kStates;
  recipe.parallel.sharded_by = ShardedBy::kZero;
  for (const char* form : {"adamw-loop", "adamw-2.0"}) {
    recipe.optimizer = find_optimizer(form);
    const Step step = half_update(recipe);
    CHECK(allocated(step) ==
          std::vector<int64_t>{2 * 70000, 2 * 30, 2 * 70030, 4 * 70030, 4 * 70030, 4 * 70030});
    CHECK(std::ranges::count_if(step.events, [&](const Event& e) {
            return e.kind == Event::Kind::kLaunch &&
                   step.kernels[e.id].kernel_class == KernelClass::kUpdate;
          }) == (form == std::string_view("adamw-loop") ? 8 : 9));
  }
}

TEST_CASE("update: a norm may be of copies of all gradients, which go before these are cast") {
  Recipe recipe;
  recipe.precision = find_precision("mixed-bf16");
  recipe.optimizer = find_optimizer("adamw-fused");
  recipe.clip_grad_norm = 1.0;
  const auto copies = [](const Step& step) {
    const std::vector<int64_t> sizes = allocated(step);
    return std::ranges::count(sizes, 4 * 70000);
  };
  CHECK(copies(half_update(recipe)) == 0);
  recipe.norm_of_copies = true;
  CHECK(copies(half_update(recipe)) == 1);
}

}  // namespace plimsoll::eager
