#include "graph/eager/update.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

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

}  // namespace plimsoll::eager
